import { BaseDevice, type DeviceOptions } from './device/device.js';
import { openFolder } from './device/files/file-buffer.js';
import { readSettings } from './settings-file.js';

export { HeadwaterError, type Flaw } from './error.js';
export type { DeviceOptions, DeviceStats, Dropped, Refused } from './device/device.js';
export type { PointOptions, Tags } from './device/point.js';

/** A device that hands over points and answers commands. */
export class Device extends BaseDevice {
  /** @throws HeadwaterError `invalid_argument`, and `buffer_in_use` when another process has the folder of the buffer. */
  constructor(options: DeviceOptions) {
    super(options, { readStored: readSettings, openFolder });
  }
}
