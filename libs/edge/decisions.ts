import {
  entry,
  on,
  Runner,
  Table,
  type Entry,
  type Group,
  type Processor,
  type RecordLog,
  type StreamRecord,
  type Topic,
  type Views,
} from '#log';
import { nothingDecided, once, type Asked, type Decisions, type Lease, type Told } from '#model';
import { audit, decisions, decisionsGroup, keyDecisions, keysGroup, outcomes } from '#topics';
import { areas, keysArea, type AnyArea } from './areas/index.js';
import type { Clock } from './clock.js';

/** Commands that are decided together: the record of an organization has room for what they make. */
const maxTogether = 4;

/** Those who decide what people change: one processor for each group. */
export const deciders = (log: RecordLog, views: Views, clock: Clock): readonly Processor[] =>
  [keysGroup, decisionsGroup].map((group) => deciderOf(group, log, views, clock));

/**
 * Decides the commands of areas, whichever process of the group has their partition: for each organization there is one writer.
 *
 * What there is stands in the topics of an area and nowhere else. All of it is read before anything is decided: the decisions before have
 * had their effect then, for their record in the table holds the effects until they are in the log, and whoever decides next appends those
 * first.
 *
 * - Two callers at once: their commands have an order in the log, and the second is decided on what the first has made.
 * - Nobody decides: callers are told `log_unavailable` after 5 seconds. Whoever decides later makes nothing of what has waited for so long.
 *   That is as exact as the clocks of the processes agree; where they differ by 5 seconds nothing is decided at all.
 * - A command comes again, from its sender or after a crash: its id is known for as long as it is not too old.
 */
export function deciderOf(group: Group, log: RecordLog, views: Views, clock: Clock): Processor & { readonly table: Table<Decisions> } {
  const isOfKeys = group === keysGroup;
  const topic = isOfKeys ? keyDecisions : decisions;
  const table = new Table(log, topic, { outputs: group.outputs });
  const inputs = (isOfKeys ? [keysArea] : areas).map((area) => {
    const decider = new AreaDecider(area, table, topic, views, clock);
    return on(area.topic, (records, lease) => decider.take(records, lease));
  });
  return { group, table, inputs };
}

class AreaDecider {
  #stateOf: ((orgId: string) => unknown) | undefined;

  constructor(
    private readonly area: AnyArea,
    private readonly table: Table<Decisions>,
    private readonly topic: Topic<Decisions>,
    private readonly views: Views,
    private readonly clock: Clock,
  ) {
    // Read now, so that the first command does not wait for it.
    for (const one of area.topics) views.open(one);
  }

  async take(records: readonly StreamRecord<Asked>[], lease: Lease): Promise<void> {
    for (const commands of together(records.flatMap(({ value }) => value ?? []))) {
      await Promise.all(this.area.topics.map((topic) => this.views.open(topic).caughtUp()));
      if (!lease.held()) return;
      this.#decide(commands[0]!.orgId, commands);
      await this.table.settle();
    }
  }

  #decide(orgId: string, commands: readonly Asked[]): void {
    const { name: area, decider } = this.area;
    this.#stateOf ??= this.area.stateIn(this.views);
    const each = once(decider, (event) => this.area.outcomeOf(event));
    const key = this.topic.key({ area, orgId, ...nothingDecided, audited: 0 });
    const known = this.table.get(key) ?? { ...nothingDecided, audited: 0 };
    let state = { decided: known.decided, atMs: known.atMs, of: this.#stateOf(orgId) };
    const audited: Entry[] = [];
    const outputs: Entry[] = [];
    const told: Told[] = [];
    for (const command of commands)
      for (const { decided, outcome, events, atMs } of each.decide(state, command, this.clock())) {
        state = each.evolve(state, { decided, outcome, events, atMs });
        outputs.push(...events.flatMap((event) => this.area.effectsOf(event)));
        audited.push(...this.#audited(command, events, known.audited + audited.length, atMs));
        told.push({ id: command.id, outcome: outcome.word, about: outcome.about });
      }
    if (told.length === 0) return;
    const { decided, atMs } = state;
    // Told behind the effects: whoever hears it finds them in the log.
    const next = { area, orgId, decided, atMs, audited: known.audited + audited.length };
    this.table.set(key, next, [...outputs, ...audited, entry(outcomes, { area, orgId, told })]);
  }

  /** @param count changes that the audit log was told before. */
  #audited({ id, orgId, by }: Asked, events: readonly unknown[], count: number, atMs: number): readonly Entry[] {
    const { name: area } = this.area;
    const notes = events.flatMap((event) => this.area.auditOf(event));
    return notes.map((note, at) => entry(audit, { orgId, ...note, id: `${id}/${at}`, area, count: count + at, atMs, by }));
  }
}

/** Commands that are decided on one reading of the state: consecutive ones of one organization. */
function together(commands: readonly Asked[]): readonly (readonly Asked[])[] {
  const runs: Asked[][] = [];
  for (const command of commands) {
    const run = runs.at(-1);
    if (run && run.length < maxTogether && run[0]!.orgId === command.orgId) run.push(command);
    else runs.push([command]);
  }
  return runs;
}

/**
 * Decides in this process too while `work` runs: for commands that run where perhaps nobody else does. Where several processes do so, one
 * of them decides for all.
 *
 * @param group the one that decides what `work` asks for.
 */
export async function whileDeciding<T>(group: Group, log: RecordLog, views: Views, clock: Clock, work: () => Promise<T>): Promise<T> {
  const runner = new Runner(log, deciderOf(group, log, views, clock), { checkpointMs: 2 ** 31 - 1, report: () => undefined });
  await runner.start();
  try {
    return await work();
  } finally {
    await runner.stop();
  }
}
