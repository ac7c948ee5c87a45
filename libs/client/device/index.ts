export type { CommandContext, CommandHandler, HandlerOptions } from './commands.js';
export type { DeviceOptions, DeviceStats, Dropped, Refused } from './device.js';
export type { PointOptions, Tags } from './point.js';
