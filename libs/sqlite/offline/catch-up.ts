import { Runner, type Processor, type RecordLog } from '#log';
import { TelemetryError } from '#model';

/** No checkpoint but the last: nobody else reads meanwhile. */
const checkpointMs = 2 ** 31 - 1;

/** Brings projections to the log's end, as the next start of the server would. Rejects when the log or the store cannot be used. */
export async function catchUp(log: RecordLog, processors: readonly Processor[]): Promise<void> {
  for (const processor of processors) {
    const failed = Promise.withResolvers<never>();
    const report = (_: string, error: unknown): void => {
      if (error instanceof TelemetryError) failed.reject(error);
    };
    const runner = new Runner(log, processor, { checkpointMs, report });
    await runner.start();
    try {
      await Promise.race([runner.caughtUp(), failed.promise]);
      await runner.checkpoint();
    } finally {
      await runner.stop();
    }
  }
}
