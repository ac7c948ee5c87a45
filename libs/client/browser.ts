/** Here are no files and no environment: points wait in memory, and address and key have to be given. */
export { BaseDevice as Device } from './device/device.js';
export type * from './device/index.js';
export { HeadwaterError, type Flaw } from './error.js';
export { BaseHeadwater as Headwater } from './reader/headwater.js';
export type * from './reader/index.js';
