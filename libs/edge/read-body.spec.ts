import { describe, expect, it } from '@jest/globals';
import { release } from './read-body.js';

function released(bytes: Uint8Array): Uint8Array {
  release(bytes);
  return bytes;
}

describe('released bytes', () => {
  it.each([
    ['are gone where they have their memory to themselves', Buffer.alloc(2048), 0],
    ['stay where they are few', Buffer.alloc(2047), 2047],
    ['stay where they share it with others', Buffer.alloc(4096).subarray(0, 2048), 2048],
    ['stay where other threads may see them', new Uint8Array(new SharedArrayBuffer(2048)), 2048],
    ['may be none', new Uint8Array(), 0],
    ['may be gone already', released(Buffer.alloc(2048)), 0],
  ])('%s', (_, bytes: Uint8Array, length) => {
    expect(released(bytes)).toHaveLength(length);
  });
});
