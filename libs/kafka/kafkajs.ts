import { createRequire } from 'node:module';
import { crc32c } from '@node-rs/crc32';

const require = createRequire(import.meta.url);

// Its own checksum, in JavaScript, is a third of what producing costs.
const checksum = require.resolve('kafkajs/src/protocol/recordBatch/crc32C');
require.cache[checksum] = { id: checksum, filename: checksum, loaded: true, exports: (bytes: Buffer) => crc32c(bytes) } as NodeJS.Module;

interface RequestQueue {
  readonly throttledUntil: number;
  readonly pending: readonly unknown[];
  throttleCheckTimeoutId: NodeJS.Timeout | null;
  checkPendingRequests(): void;
}

// After each request that was not throttled it sets a timer in the past, for which Node warns.
const idleMs = 10;
const queues = require('kafkajs/src/network/requestQueue') as { readonly prototype: object };

Object.assign(queues.prototype, {
  scheduleCheckPendingRequests(this: RequestQueue): void {
    const waitMs = this.throttledUntil - Date.now();
    if (this.throttleCheckTimeoutId || (this.pending.length === 0 && waitMs <= 0)) return;
    this.throttleCheckTimeoutId = setTimeout(
      () => {
        this.throttleCheckTimeoutId = null;
        this.checkPendingRequests();
      },
      waitMs > 0 ? waitMs : idleMs,
    );
  },
});

/** kafkajs, with two of its parts replaced before it is loaded. */
export const kafkajs = require('kafkajs') as typeof import('kafkajs');
