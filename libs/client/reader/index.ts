export type { Asked, ReaderOptions } from './access.js';
export type { CommandOptions, Ended } from './command.js';
export type { Alerts, Fleet, Keys, Monitors, SourcesQuery } from './headwater.js';
export type { BucketColumns, Columns, ColumnsOf, Query, RawColumns } from './pages.js';
export type { LogsQuery, RawAnswer, Source, SourceStream } from './source.js';
export type * from './types.js';
export type { Time, Window } from './window.js';
