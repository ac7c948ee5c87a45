import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { closeCodes } from '#edge';
import { asyncApi } from '../../../apps/control/asyncapi.js';
import { gatewayChannels } from '../../../apps/gateway/gateway.channels.js';
import { GatewayModule } from '../../../apps/gateway/gateway.module.js';
import { LiveContract, type AsyncApi } from './live-contract.js';
import { asyncApiDrift, asyncApiFile, asyncApiText } from '../../../apps/embedded/asyncapi.js';

const document = JSON.parse(asyncApiText()) as AsyncApi;
const contract = new LiveContract(document);

/** The paths of the WebSockets that the gateway serves. */
function servedPaths(): readonly string[] {
  const providers = Reflect.getMetadata('providers', GatewayModule) as readonly object[];
  return providers
    .map(
      (provider) =>
        Reflect.getMetadata('websockets:gateway_options', (provider as { useValue?: object }).useValue ?? provider) as
          | { path: string }
          | undefined,
    )
    .flatMap((options) => options?.path ?? []);
}

describe('the AsyncAPI document', () => {
  it('is what its definitions say; `npm run openapi` writes it', () => {
    expect(asyncApiDrift(readFileSync(asyncApiFile, 'utf8'))).toBeUndefined();
  });

  it('says where another text differs, and what to do', () => {
    expect(asyncApiDrift(asyncApiText().replace('"title": "Headwater, live"', '"title": "H"'))).toBe(
      'apps/control/asyncapi.json differs at info title from the channels in apps/gateway. Edit the definition there, not the JSON, and run `npm run openapi`.',
    );
  });

  it('has the WebSockets that are served, and no others', () => {
    const described = Object.values(document.channels).map(({ address }) => address.replaceAll(/\{(\w+)\}/g, ':$1'));
    expect(described.toSorted()).toEqual(servedPaths().toSorted());
    expect(described).toHaveLength(3);
  });

  it('has every parameter of each address', () => {
    for (const { path, params } of gatewayChannels)
      expect([path, Object.keys(params?.shape ?? {})]).toEqual([path, Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => name)]);
  });

  it('has nothing behind a reference that is not there, and nothing that nobody refers to', () => {
    const text = asyncApiText();
    for (const [, pointer] of text.matchAll(/"\$ref": "#\/([^"]+)"/g)) {
      const found = pointer!.split('/').reduce<unknown>((value, step) => (value as Record<string, unknown> | undefined)?.[step], document);
      expect([pointer, typeof found]).toEqual([pointer, 'object']);
    }
    const { components } = document as unknown as { components: { schemas: object } };
    for (const name of Object.keys(components.schemas)) expect(text).toContain(`"#/components/schemas/${name}"`);
  });

  it('has examples of every message, which are that message and no other', () => {
    for (const [id, { address, messages }] of Object.entries(document.channels))
      for (const [name, { examples }] of Object.entries(messages)) {
        expect(examples).not.toEqual([]);
        const action = contract.messages(id, 'send').includes(name) ? 'send' : 'receive';
        for (const { payload } of examples) {
          expect([name, payload, contract.isOne(id, name, payload)]).toEqual([name, payload, true]);
          contract.check(address, action, JSON.stringify(payload));
        }
      }
    expect(contract.complaints).toEqual([]);
  });

  it('explains every code with which the server closes a socket', () => {
    const explained = new Set(Object.values(document.channels).flatMap((channel) => Object.keys(channel['x-close-codes']).map(Number)));
    expect(explained).toEqual(new Set([...Object.values(closeCodes), 1007]));
  });

  it('has no channel twice', () => {
    const [first] = gatewayChannels;
    for (const other of [
      { ...first!, id: 'other' },
      { ...first!, path: '/other' },
    ])
      expect(() => asyncApi([first!, other], '1.0.0')).toThrow('two channels have one');
  });
});
