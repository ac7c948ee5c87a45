import { partitionOf, tombstone, type AnyTopic, type RecordLog, type UnreadableKey, type Views } from '#log';
import { OperatorError } from '#model';
import { topics } from '#topics';

interface ViewPorts {
  readonly log: RecordLog;
  readonly views: Views;
}

const compacted = topics.filter(({ cleanup }) => cleanup === 'compact');

/** Reads all compacted topics to their end. Resolves to the records that stand for their keys and cannot be read. */
export async function unreadableKeys({ views }: ViewPorts): Promise<readonly UnreadableKey[]> {
  await Promise.all(compacted.map((topic) => views.open(topic).caughtUp()));
  return views.unreadableKeys();
}

/**
 * Deletes such keys with tombstones. Resolves to those that are still there: another writer may have put a record into a partition that its
 * key does not belong to, and our tombstone would go to the key's own partition and delete the wrong record.
 */
export async function removeKeys(ports: ViewPorts, unreadable: readonly UnreadableKey[]): Promise<readonly UnreadableKey[]> {
  const own = unreadable.filter((it) => isAtHome(it, topicOf(it)));
  await ports.log.append(own.map((it) => tombstone(topicOf(it), it.key)));
  const left = await unreadableKeys(ports);
  return unreadable.filter((it) =>
    left.some(({ topic, partition, offset }) => topic === it.topic && partition === it.partition && offset === it.offset),
  );
}

/** A sentence for each topic with such records. */
export function warningsOf(views: Views): readonly string[] {
  const byTopic = Map.groupBy(views.unreadableKeys(), ({ topic }) => topic);
  return Array.from(byTopic, ([name, { length }]) => {
    const outcome = topicNamed(name).unreadable === 'skipped' ? 'skipped' : 'taken as deleted';
    const records = length === 1 ? '1 record cannot be read: its key is' : `${length} records cannot be read: their keys are`;
    return `${name}: ${records} ${outcome}. See \`headwater views list\`.`;
  });
}

/** Reports the sentences of `warningsOf` as they change, while a role runs. */
export class UnreadableWatch {
  #told = '';
  readonly #timer: NodeJS.Timeout;

  constructor(
    private readonly views: Views,
    private readonly report: (message: string) => void,
  ) {
    this.#timer = setInterval(() => this.look(), lookMs).unref();
  }

  look(): void {
    const warnings = warningsOf(this.views);
    const told = warnings.join('\n');
    if (told === this.#told) return;
    this.#told = told;
    if (warnings.length === 0) this.report('All records of the compacted topics can be read again.');
    for (const warning of warnings) this.report(warning);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

const lookMs = 5_000;

/** @throws OperatorError with what to do when what is there cannot be told from what is not. */
export function refuseUnreadable(views: Views): void {
  const [warning] = warningsOf(views);
  if (warning !== undefined) throw new OperatorError(`${warning} Remove what cannot be read first, with \`headwater views remove\`.`);
}

const topicNamed = (name: string): AnyTopic => topics.find((it) => it.name === name)!;
const topicOf = ({ topic }: UnreadableKey): AnyTopic => topicNamed(topic);
const isAtHome = ({ partition, key }: UnreadableKey, { partitions }: AnyTopic): boolean =>
  partitionOf(Buffer.from(key), partitions) === partition;
