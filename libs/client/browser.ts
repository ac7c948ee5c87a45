import { BaseDevice, type DeviceOptions } from './device/device.js';

export { HeadwaterError, type Flaw } from './error.js';
export type { DeviceOptions, DeviceStats, Dropped, Refused } from './device/device.js';
export type { PointOptions, Tags } from './device/point.js';

/** A device that hands over points and answers commands. Its points wait in memory. */
export class Device extends BaseDevice {
  /** @throws HeadwaterError `invalid_argument`. */
  constructor(options: DeviceOptions) {
    super(options, { readStored: () => Promise.resolve({}), openFolder: undefined });
  }
}
