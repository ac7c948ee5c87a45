import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Source } from '#model';
import { AvroCodec, sources } from '#topics';
import { SharedCodec } from './shared-codec.js';

const source = (sourceId: string): Source => ({ orgId: 'o', sourceId, firstReceivedMs: 1, lastReceivedMs: 2, heardIn: null });
const [a, b] = [source('a'), source('b')];

let codec: AvroCodec;
let bytesOf: (value: Source) => Buffer;
beforeEach(async () => {
  codec = await AvroCodec.open({ register: async () => 1, schema: async () => undefined }, [sources]);
  bytesOf = (value) => codec.encode(sources, value);
});

describe('a record that a second group reads', () => {
  const place = { partition: 3, offset: '7' };

  it.each<[what: string, place: typeof place, shown: Source, isSame: boolean]>([
    ['is decoded once', place, a, true],
    ['is another one at another offset', { ...place, offset: '8' }, a, false],
    ['is another one in another partition', { ...place, partition: 4 }, a, false],
    ['is another one where its bytes are others, as in a topic that was made anew', place, { ...a, lastReceivedMs: 3 }, false],
    ['is another one where its key is another', place, b, false],
  ])('%s', (_, second, shown, isSame) => {
    const shared = new SharedCodec(codec);
    const first = shared.decode(sources, 'o/a', bytesOf(a), place);
    const again = shared.decode(sources, `o/${shown.sourceId}`, bytesOf(shown), second);
    expect([first, again]).toEqual([a, shown]);
    expect(again === first).toBe(isSame);
  });

  it('is not taken under another key than its own, though it was taken under that before', () => {
    const shared = new SharedCodec(codec);
    shared.decode(sources, 'o/a', bytesOf(a), place);
    expect(() => shared.decode(sources, 'o/b', bytesOf(a), place)).toThrow('the record stands under another key than its own');
  });

  it('is refused again where it was refused before', () => {
    const shared = new SharedCodec(codec);
    for (const _ of ['first', 'second']) expect(() => shared.decode(sources, 'o/a', Buffer.from('no record'), place)).toThrow('0x00');
  });
});

it('The newest records are remembered, as many as fit with 200 bytes for each beside its own', () => {
  const shared = new SharedCodec(codec, 10 * (bytesOf(a).length + 200));
  const decode = (at: number): unknown => shared.decode(sources, 'o/a', bytesOf(a), { partition: 0, offset: String(at) });
  const values = Array.from({ length: 100 }, (_, at) => decode(at));
  const remembered = [95, 99, 90, 89].map((at) => decode(at) === values[at]);
  expect(remembered).toEqual([true, true, true, false]);
});
