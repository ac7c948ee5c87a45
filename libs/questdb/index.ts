export type { CommitMode } from './commits.js';
export { encoderCost, type EncoderCost } from './encoder-cost.js';
export { openQuestDb, type QuestDb, type QuestDbOptions } from './quest-db.js';
export type { Partitioning } from './tables.js';
