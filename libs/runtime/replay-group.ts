import { tombstone, withoutGeneration, type Group, type Groups, type Moved, type RecordLog, type Start, type Views } from '#log';
import { OperatorError } from '#model';
import { groups as registry } from '#topics';

interface ReplayPorts {
  readonly log: Pick<RecordLog, 'append'>;
  readonly views: Pick<Views, 'open'>;
  readonly groups: Groups;
}

const maxTombstones = 10_000;

/**
 * Lets a group that has no members begin again from somewhere, in every topic it reads. Rejects OperatorError when that cannot be, and as `Groups.move` does.
 *
 * @param forgets ends every key of the compacted topics that the group writes, so that it makes them again from nothing: for a log that has no readers
 *   now. Where the log no longer has all records of the topics that the group reads, nothing is ended, as some of it could not be made again.
 */
export async function replayGroup({ log, views, groups }: ReplayPorts, name: string, from: Start, forgets = false): Promise<Moved> {
  const names = await groups.names();
  if (!names.includes(name)) throw new OperatorError(`There is no group ${name}: there are ${names.join(', ') || 'none'}.`);
  const whyNot = whyNotReplayed(name);
  if (whyNot) throw new OperatorError(whyNot);
  const moved = await groups.move(name, from);
  // Only now that the group is going to read everything again: whenever this ends, what is forgotten comes back.
  if (forgets && moved.cut.length === 0) await forget(log, views, registered(name));
  return moved;
}

async function forget(log: ReplayPorts['log'], views: ReplayPorts['views'], group: Group | undefined): Promise<void> {
  for (const topic of group?.outputs.filter(({ cleanup }) => cleanup === 'compact') ?? []) {
    const view = views.open(topic);
    await view.ready;
    const entries = Array.from(view.scan(''), ([key]) => tombstone(topic, key));
    for (let at = 0; at < entries.length; at += maxTombstones) await log.append(entries.slice(at, at + maxTombstones));
  }
}

/** Why a group is never moved back, as a sentence; undefined when it may be. */
export function whyNotReplayed(group: string, known = registry): string | undefined {
  if (registered(group, known)?.mayReplay ?? true) return undefined;
  return `The group ${group} is never moved back: what it has done, such as sending a message or making a key, is not to be done again.`;
}

const registered = (group: string, known = registry): Group | undefined => known.find(({ name }) => name === withoutGeneration(group));
