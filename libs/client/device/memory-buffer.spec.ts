import { describe } from '@jest/globals';
import { bufferContract } from './test-buffer.js';
import { memoryBuffer } from './memory-buffer.js';

describe('memoryBuffer', () => {
  bufferContract((limits, listener) => Promise.resolve(memoryBuffer(limits, listener)));
});
