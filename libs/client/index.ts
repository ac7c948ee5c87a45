import { BaseDevice, type DeviceOptions } from './device/device.js';
import { openFolder } from './device/files/file-buffer.js';
import { BaseHeadwater } from './reader/headwater.js';
import type { ReaderOptions } from './reader/index.js';
import { findServer } from './settings-file.js';

export type * from './device/index.js';
export { HeadwaterError, type Flaw } from './error.js';
export type * from './reader/index.js';
export { request, type Server } from './request.js';
export { defaultUrl, headerValue, serverUrl } from './settings.js';
export { findServer, readSettings, settingsFile, writeSettings } from './settings-file.js';

/** A device that hands over points and answers commands. */
export class Device extends BaseDevice {
  /** @throws HeadwaterError `invalid_argument`, and `buffer_in_use` when another process has the folder of the buffer. */
  constructor(options: DeviceOptions) {
    super(options, findServer, openFolder);
  }
}

/** A server to read from. */
export class Headwater extends BaseHeadwater {
  constructor(options: ReaderOptions = {}) {
    super(options, findServer);
  }
}
