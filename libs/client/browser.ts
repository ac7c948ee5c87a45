import { BaseDevice, type DeviceOptions } from './device/device.js';
import { BaseHeadwater } from './reader/headwater.js';
import type { ReaderOptions } from './reader/index.js';
import type { ReadStored } from './settings.js';

export type * from './device/index.js';
export { HeadwaterError, type Flaw } from './error.js';
export type * from './reader/index.js';

/** There are no files, so address and key have to be given. */
const nothing: ReadStored = () => Promise.resolve({});

/** A device that hands over points and answers commands. Its points wait in memory. */
export class Device extends BaseDevice {
  /** @throws HeadwaterError `invalid_argument`. */
  constructor(options: DeviceOptions) {
    super(options, { readStored: nothing, openFolder: undefined });
  }
}

/** A server to read from. */
export class Headwater extends BaseHeadwater {
  constructor(options: ReaderOptions = {}) {
    super(options, nothing);
  }
}
