export { type CommitMode, UnsafeCommits } from './commits.js';
export type { Compared, Difference } from './compare.js';
export type { DumpedRow, Moment } from './dump.js';
export { encoderCost, type EncoderCost } from './encoder-cost.js';
export { TableMismatch } from './ensure-tables.js';
export { openQuestDb, type QuestDb, type QuestDbOptions, type SettledSeriesStore } from './quest-db.js';
export type { Partitioning } from './tables.js';
