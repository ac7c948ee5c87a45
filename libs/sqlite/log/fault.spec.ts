import { expect, it } from '@jest/globals';
import { inLog } from './fault.js';

it.each(['ENOSPC', 'EDQUOT', 'EFBIG'])('names a disk without room: %s', (code) => {
  const fail = (): never => {
    throw Object.assign(new Error(`${code}: no room, write`), { code });
  };
  expect(() => inLog('writing from offset 7', fail)).toThrow(
    expect.objectContaining({
      code: 'log_unavailable',
      message: `writing from offset 7 failed: the disk is full (${code}): ${code}: no room, write`,
    }),
  );
});
