import { HeadwaterError } from '#client';
import { checkSourceId } from '#model';
import { type Batch, Batches, Repeats } from './batches.js';
import { type ColumnWishes, isHeader, readColumns } from './columns.js';
import { command } from './command.js';
import { connect, connectionFlags } from './connection.js';
import { CsvReader, type CsvRow } from './csv.js';
import { BadFile, Failure, flagged, inWords, mayPass } from './failure.js';
import { type Input, openInput } from './input.js';
import type { Io } from './io.js';
import { Sender } from './sender.js';
import { counted } from './text.js';

export const body = command({
  about:
    'The file has a time column and one or more value columns, plain or gzip. A header is found by itself and names the metrics unless ' +
    '--metric does. Times are ISO 8601 (UTC when there is no zone) or Unix s or ms. An empty cell is no point. Sending ' +
    'a point again changes nothing, so after a failure mend what it names and run the command again. Of two values for one time the ' +
    'later line wins: the count is of points that were sent, and a query finds each time once.',
  argument: { name: 'FILE', about: 'a CSV file; `-` reads stdin' },
  flags: {
    ...connectionFlags,
    source: { value: 'ID', about: 'the source that the points belong to', required: true },
    metric: { value: 'NAME', about: 'take this column; or, given once for each value column, its metric; repeatable', many: true },
    time: { value: 'COLUMN', about: 'header of the time column; else the first column' },
    json: { about: 'print what was stored as JSON' },
  },
  examples: [
    'headwater import temperature.csv --source press-7 --metric machine.temperature',
    'headwater import all-sensors.csv.gz --source press-7',
    'headwater import log.csv --source press-7 --time recorded_at --metric rpm --metric oil.pressure',
    "psql -c 'copy (select ts, v from t) to stdout csv' | headwater import - --source press-7 --metric rpm",
  ],
  async run(flags, io, file) {
    const sourceId = flagged('--source', flags.source, checkSourceId);
    const connection = await connect(flags, io);
    const input = await openInput(file, io.interrupted);
    const repeats = new Repeats();
    const batches = batchesOf(input, sourceId, { time: flags.time, metrics: flags.metric }, repeats);
    const points = await sendAll(input, batches, new Sender(connection, io.interrupted), io);
    io.note(`Stored ${counted(points, 'point')} of ${sourceId}.${explained(repeats)}`);
    if (flags.json) await io.data(`${JSON.stringify({ source_id: sourceId, points })}\n`);
  },
});

/** Resolves with the number of points that were stored. Rejects `Failure` that says how many were stored before. */
async function sendAll(input: Input, batches: AsyncIterable<Batch>, sender: Sender, io: Io): Promise<number> {
  try {
    for await (const batch of batches) {
      await sender.send(batch);
      io.progress(() => progress(input, sender.storedPoints));
    }
    await sender.drain();
    return sender.storedPoints;
  } catch (error) {
    await sender.settle();
    const cause = inWords(io.interrupted.aborted ? io.interrupted.reason : error);
    if (!(cause instanceof Failure) || sender.storedPoints === 0) throw cause;
    const stored = `Stored until then: ${counted(sender.storedPoints, 'point')}.`;
    const again = `${isFinal(cause) ? 'Mend that, then run' : 'Run'} the same command again: sending a point again changes nothing.`;
    throw new Failure(`${cause.message}\n${stored} ${again}`, cause.exitCode, { cause });
  }
}

/** Whether something has to be mended before the same command may succeed. */
const isFinal = (cause: Failure): boolean => cause instanceof BadFile || (cause.cause instanceof HeadwaterError && !mayPass(cause.cause));

function explained({ points, ascends }: Repeats): string {
  if (!ascends) return ' Its times do not ascend: where one comes again, the later line has replaced the earlier one.';
  if (points === 0) return '';
  return ` ${counted(points, 'of them has', 'of them have')} the time of the line before and replaced its value.`;
}

function progress({ name, sizeBytes, readBytes }: Input, storedPoints: number): string {
  const points = counted(storedPoints, 'point');
  if (sizeBytes === undefined) return `${name}  ${points}`;
  const part = Math.min(1, readBytes() / sizeBytes);
  return `${name}  [${'#'.repeat(Math.round(part * 20)).padEnd(20, '.')}] ${Math.floor(part * 100)} %  ${points}`;
}

/** The batches of a file. The points before a bad line are yielded before the line is refused. */
async function* batchesOf(input: Input, sourceId: string, wishes: ColumnWishes, repeats: Repeats): AsyncGenerator<Batch> {
  const reader = new CsvReader();
  let batches: Batches | undefined;
  function add(row: CsvRow): readonly Batch[] {
    if (batches) return batches.add(row);
    batches = new Batches(sourceId, readColumns(row, wishes), repeats);
    return isHeader(row, wishes) ? [] : batches.add(row);
  }
  try {
    for await (const text of input.text) for (const row of reader.push(text)) for (const batch of add(row)) yield batch;
    for (const row of reader.end()) yield* add(row);
  } catch (error) {
    yield* batches?.end() ?? [];
    throw error;
  }
  if (!batches) throw new BadFile(`${input.name} is empty.`);
  yield* batches.end();
}
