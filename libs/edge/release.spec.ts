import { describe, expect, it } from '@jest/globals';
import { release } from './release.js';

describe('released bytes', () => {
  it.each([
    ['that have their memory to themselves are gone', Buffer.alloc(8, 7), []],
    ['that share it with others stay', Buffer.alloc(16, 7).subarray(0, 8), [7, 7, 7, 7, 7, 7, 7, 7]],
    ['that other threads may see stay', new Uint8Array(new SharedArrayBuffer(2)), [0, 0]],
    ['of none', new Uint8Array(), []],
  ])('%s', (_, bytes: Uint8Array, expected) => {
    release(bytes);
    expect([...bytes]).toEqual(expected);
  });
});
