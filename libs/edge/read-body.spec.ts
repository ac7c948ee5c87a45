import { describe, expect, it } from '@jest/globals';
import { release } from './read-body.js';

function released(bytes: Uint8Array): Uint8Array {
  release(bytes);
  return bytes;
}

describe('released bytes', () => {
  it.each([
    ['are gone where they have their memory to themselves', Buffer.alloc(8), 0],
    ['stay where they share it with others', Buffer.alloc(16).subarray(0, 8), 8],
    ['stay where other threads may see them', new Uint8Array(new SharedArrayBuffer(8)), 8],
    ['may be none', new Uint8Array(), 0],
    ['may be gone already', released(Buffer.alloc(8)), 0],
  ])('%s', (_, bytes: Uint8Array, length) => {
    expect(released(bytes)).toHaveLength(length);
  });
});
