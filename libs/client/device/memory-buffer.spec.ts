import { describe } from '@jest/globals';
import { bufferContract } from './test-buffer.js';
import { MemoryBuffer } from './memory-buffer.js';

describe('MemoryBuffer', () => {
  bufferContract((limits, listener) => Promise.resolve(new MemoryBuffer(limits, listener)));
});
