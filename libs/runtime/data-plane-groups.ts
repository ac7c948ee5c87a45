import { withoutGeneration } from '#log';
import { groups as registry, topics } from '#topics';
import { withLog, type Kafka } from './adapters.js';
import { StartError } from './config.js';
import type { Config } from './settings.js';

type Progress = Awaited<ReturnType<Kafka['groups']['progress']>>[number];

/** Where a group shall go on. */
export type Start = Parameters<Kafka['groups']['move']>[2];

export interface TopicReport {
  readonly topics: readonly { readonly topic: string; readonly partitions: number; readonly cleanup: string; readonly records: number }[];
  /** Each partition that a group reads, but those without a record. */
  readonly groups: readonly Progress[];
}

/** Every topic, and how far each consumer group is. Dead letters are topics of their own. */
export function reportTopics(config: Config): Promise<TopicReport> {
  return withLog(config, async ({ groups }) => {
    const all = topics.flatMap(({ name, partitions, cleanup }) => [
      { topic: name, partitions, cleanup },
      { topic: `${name}.dlq`, partitions: 1, cleanup: 'delete' },
    ]);
    const sizes = await Promise.all(
      all.map(async (one) => {
        const [extents = []] = (await groups.ends([one.topic])).values();
        return { ...one, records: extents.reduce((sum, { low, high }) => sum + high - low, 0) };
      }),
    );
    const names = await groups.names();
    const progress = await Promise.all(
      names.map(async (group) => groups.progress(group, await groups.ends(await ownTopics(groups, group)))),
    );
    return {
      topics: sizes.filter(({ topic, records }) => records > 0 || !topic.endsWith('.dlq')),
      groups: progress.flat().filter(({ offset, lag }) => offset + lag > 0),
    };
  });
}

export interface Replayed {
  /** Those that the group reads. */
  readonly topics: readonly string[];
  /** Those of them of which Kafka has deleted the first records: nobody can replay these. */
  readonly cut: readonly string[];
}

/** Lets a group that has no members begin again from somewhere, in every topic it reads. Rejects StartError when that cannot be. */
export function replayGroup(config: Config, group: string, from: Start): Promise<Replayed> {
  return withLog(config, async ({ groups }) => {
    const names = await groups.names();
    if (!names.includes(group)) throw new StartError(`There is no group ${group}: there are ${names.join(', ') || 'none'}.`);
    const whyNot = whyNotReplayed(group);
    if (whyNot) throw new StartError(whyNot);
    const read = await ownTopics(groups, group);
    for (const topic of read) {
      await groups.move(group, topic, from).catch((cause: unknown) => {
        throw new StartError(`The group ${group} cannot be moved in ${topic}: stop all processors first, and start them afterwards.`, {
          cause,
        });
      });
    }
    const ends = await Promise.all(read.map((topic) => groups.ends([topic])));
    const cut = read.filter((_, at) => [...ends[at]!.values()].flat().some(({ low }) => low > 0));
    return { topics: read, cut };
  });
}

/** Why a group is never moved back, as a sentence; undefined when it may be. */
export function whyNotReplayed(group: string, known = registry): string | undefined {
  const found = known.find(({ name }) => name === withoutGeneration(group));
  if (found?.mayReplay ?? true) return undefined;
  return `The group ${group} is never moved back: what it has done already, such as sending a message, would be done again.`;
}

/** Others may keep offsets in the same Kafka. */
async function ownTopics(groups: Kafka['groups'], group: string): Promise<readonly string[]> {
  const names = new Set(topics.flatMap(({ name }) => [name, `${name}.dlq`]));
  return (await groups.topics(group)).filter((topic) => names.has(topic));
}
