import { createPublicKey, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';
import { isIP } from 'node:net';

/** A certificate and its key, in PEM. */
export interface Certified {
  readonly cert: string;
  readonly key: string;
}

/** What a certificate says. */
export interface Wanted {
  /** Names and IPv4 addresses of the server. */
  readonly names?: readonly string[];
  /** Unix milliseconds; an hour ago and a day from now when left out. */
  readonly fromMs?: number;
  readonly toMs?: number;
}

/** An authority of a test's own that signs certificates: made here, since no machine surely has a program that makes them. */
export class Authority {
  readonly #key: KeyObject;
  readonly #name: string;
  /** Its own certificate, in PEM. */
  readonly cert: string;

  constructor(name = 'an authority of a test') {
    this.#name = name;
    this.#key = newKey();
    this.cert = this.#signed(name, this.#key, [extension('2.5.29.19', sequence(der(0x01, Buffer.from([0xff]))), true)]);
  }

  certify({ names = ['127.0.0.1', 'localhost'], ...validity }: Wanted = {}): Certified {
    const key = newKey();
    const all = names.map((name) => (isIP(name) ? der(0x87, Buffer.from(name.split('.').map(Number))) : der(0x82, Buffer.from(name))));
    const cert = this.#signed(names[0]!, key, [extension('2.5.29.17', sequence(...all))], validity);
    return { cert, key: key.export({ type: 'pkcs8', format: 'pem' }).toString() };
  }

  #signed(name: string, key: KeyObject, extensions: readonly Buffer[], { fromMs, toMs }: Wanted = {}): string {
    const content = sequence(
      der(0xa0, der(0x02, Buffer.from([2]))),
      der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
      ecdsaWithSha256,
      nameOf(this.#name),
      sequence(time(fromMs ?? Date.now() - hourMs), time(toMs ?? Date.now() + 24 * hourMs)),
      nameOf(name),
      createPublicKey(key).export({ type: 'spki', format: 'der' }),
      der(0xa3, sequence(...extensions)),
    );
    const signature = der(0x03, Buffer.concat([Buffer.from([0]), sign('sha256', content, this.#key)]));
    const lines = sequence(content, ecdsaWithSha256, signature)
      .toString('base64')
      .match(/.{1,64}/g)!;
    return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
  }
}

const hourMs = 3_600_000;

const newKey = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey;

/** One value in the encoding of certificates: its tag, its length, itself. */
function der(tag: number, value: Buffer): Buffer {
  const { length } = value;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), value]);
}

const sequence = (...values: readonly Buffer[]): Buffer => der(0x30, Buffer.concat(values));

function oid(dotted: string): Buffer {
  const [first, second, ...rest] = dotted.split('.').map(Number) as [number, number, ...number[]];
  const bytes = rest.flatMap((part) => {
    const groups = [part & 0x7f];
    for (let left = part >>> 7; left > 0; left >>>= 7) groups.unshift(0x80 | (left & 0x7f));
    return groups;
  });
  return der(0x06, Buffer.from([40 * first + second, ...bytes]));
}

const ecdsaWithSha256 = sequence(oid('1.2.840.10045.4.3.2'));

/** The common name alone. */
const nameOf = (name: string): Buffer => sequence(der(0x31, sequence(oid('2.5.4.3'), der(0x0c, Buffer.from(name)))));

/** In whole seconds, as `260101000000Z`. */
const time = (ms: number): Buffer =>
  der(
    0x17,
    Buffer.from(
      `${new Date(ms)
        .toISOString()
        .slice(2)
        .replace(/[-:T]|\.\d+Z/g, '')}Z`,
    ),
  );

const extension = (id: string, value: Buffer, isCritical = false): Buffer =>
  sequence(oid(id), ...(isCritical ? [der(0x01, Buffer.from([0xff]))] : []), der(0x04, value));
