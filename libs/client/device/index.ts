export type { CommandContext, CommandHandler, HandlerOptions } from './commands.js';
export type { DeviceOptions, DeviceStats } from './device.js';
export type { PointOptions, Tags } from './point.js';
export type { Dropped, Listeners, Refused } from './report.js';
