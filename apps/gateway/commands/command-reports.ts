import { Injectable } from '@nestjs/common';

/** What a device says of a command. */
export interface CommandReport {
  readonly orgId: string;
  readonly sourceId: string;
  readonly connectionId: string;
  /** Of the command, as it was handed over. */
  readonly id: string;
  readonly command?: string;
  /** A `status` is none of the others: the device has the command, and there is no more to say. */
  readonly event: 'ack' | 'result' | 'error' | 'status';
  readonly result?: unknown;
  readonly error?: unknown;
}

/** Takes what devices say of commands. */
@Injectable()
export class CommandReports {
  /** Resolves once the report is durable. Rejects `log_unavailable`. */
  report(_report: CommandReport): Promise<void> {
    return Promise.resolve();
  }
}
