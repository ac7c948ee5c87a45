import { Inject, Injectable } from '@nestjs/common';
import { entry, on, RECORD_LOG, Runner, Table, tombstone, type Entry, type Processor, type RecordLog, type StreamRecord } from '#log';
import { keyDecider, type KeyCommand, type KeyDecisions, type KeyEvent, type KeyState, type Lease } from '#model';
import { apiKeys, keyCommands, keyDecisions, keysGroup } from '#topics';
import { CLOCK, type Clock } from './clock.js';
import { Keyring } from './keyring.js';

/** Commands that are decided together: the record of an organization has room for what they make of its keys. */
const maxTogether = 32;

/**
 * Decides who gets which key: the only writer of `api-keys.v1`, whichever process of the group has its partition.
 *
 * Which keys an organization has stands in `api-keys.v1` and nowhere else, so a log whose keys were appended without commands, or whose
 * unreadable keys were removed, needs no care. All of it is read before anything is decided: the decisions before have had their effect
 * then, for their record holds the keys that it makes until they are in the log, and whoever decides next appends those first.
 *
 * - Two callers at once: their commands have an order in the log, and the second is decided on what the first has made.
 * - Nobody decides: callers are told `log_unavailable` after 5 seconds. Whoever decides later makes nothing of what has waited for so long.
 *   That is as exact as the clocks of the processes agree; where they differ by 5 seconds nothing is made at all.
 * - A command comes again, from its sender or after a crash: its id is known for as long as it is not too old.
 */
@Injectable()
export class KeyDecider implements Processor {
  readonly group = keysGroup;
  readonly table: Table<KeyDecisions>;
  readonly inputs = [on(keyCommands, (records, lease) => this.#take(records, lease))];

  constructor(
    @Inject(RECORD_LOG) log: RecordLog,
    private readonly keyring: Keyring,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {
    this.table = new Table(log, keyDecisions, keysGroup.outputs);
  }

  async #take(records: readonly StreamRecord<KeyCommand>[], lease: Lease): Promise<void> {
    for (let at = 0; at < records.length; at += maxTogether) {
      await this.keyring.caughtUp();
      if (!lease.held()) return;
      this.#decide(records.slice(at, at + maxTogether).flatMap(({ value }) => value ?? []));
      await this.table.write();
    }
  }

  #decide(commands: readonly KeyCommand[]): void {
    const states = new Map<string, KeyState>();
    for (const command of commands) {
      const { orgId } = command;
      const before = states.get(orgId) ?? this.#stateOf(orgId);
      for (const event of keyDecider.decide(before, command, this.clock())) {
        const state = keyDecider.evolve(before, event);
        const { decided, atMs } = state;
        states.set(orgId, state);
        this.table.set(orgId, { orgId, decided, atMs }, effectsOf(event));
      }
    }
  }

  #stateOf(orgId: string): KeyState {
    const keyIds = new Set(this.keyring.list(orgId).map(({ keyId }) => keyId));
    return { ...(this.table.get(orgId) ?? keyDecider.initial), keyIds };
  }
}

function effectsOf({ command: { keyId, key }, outcome }: KeyEvent): readonly Entry[] {
  if (outcome === 'created') return [entry(apiKeys, key!)];
  return outcome === 'deleted' ? [tombstone(apiKeys, keyId)] : [];
}

/**
 * Decides in this process too while `work` runs: for commands that run where perhaps nobody else does. Where several processes do so, one
 * of them decides for all.
 */
export async function whileDeciding<T>(log: RecordLog, keyring: Keyring, clock: Clock, work: () => Promise<T>): Promise<T> {
  const runner = new Runner(log, new KeyDecider(log, keyring, clock), { checkpointMs: 2 ** 31 - 1, report: () => undefined });
  await runner.start();
  try {
    return await work();
  } finally {
    await runner.stop();
  }
}
