import { describe, expect, it } from '@jest/globals';
import { eventsOf, type StreamEvent } from './event-stream.js';

const text = ': alive\nid: a.1\n\nid: a.2\ndata: {"é":"💧"}\n\nevent: close\ndata: {}\n\ndata:one\n\ndata: cut off\n';
const events: readonly StreamEvent[] = [
  { id: 'a.1', name: undefined, data: undefined },
  { id: 'a.2', name: undefined, data: '{"é":"💧"}' },
  { id: undefined, name: 'close', data: '{}' },
  { id: undefined, name: undefined, data: 'one' },
];
const bytes = new TextEncoder().encode(text);

async function read(chunks: readonly Uint8Array[]): Promise<readonly StreamEvent[]> {
  const found: StreamEvent[] = [];
  const left = [...chunks];
  for await (const event of eventsOf(() => Promise.resolve({ value: left.shift() }))) found.push(event);
  return found;
}

describe('an event stream', () => {
  it('is the same wherever it is cut into two chunks, and in chunks of any size', async () => {
    for (let at = 0; at <= bytes.length; at++) expect(await read([bytes.slice(0, at), bytes.slice(at)])).toEqual(events);
    for (let size = 1; size < 20; size++) {
      const starts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) => n * size);
      expect(await read(starts.map((start) => bytes.slice(start, start + size)))).toEqual(events);
    }
  });
});
