import { deadLettersOf, redriveGroup, type AnyTopic, type Group } from '#log';
import { PositionedLetters, purgeGroup, type LetterLog } from './letter-places.js';
import { nextOffset } from './positions.js';
import type { Aged } from './segments.js';

/** How long a log keeps its records, where it does not keep all of them. */
export interface Retention {
  readonly keepMs: number;
  /** The groups that there are: what one of them has yet to read stays, also while it has no member. */
  readonly groups: readonly Pick<Group, 'name' | 'inputs'>[];
  /** Called before the log begins later: versions that know nothing of such logs must refuse the folder from then on. */
  readonly beforeDrop: () => void;
}

/** Records go by files, and a journal ends at the latest after this part of the time for which records are kept. */
export const journalAgeMs = ({ keepMs }: Retention): number => keepMs / 10;

/** A file with dead letters that wait for the operator stays for so many times as long as others. */
const timesWithLetters = 2;

/** A log as far as it matters for what may go. */
export interface TrimmableLog extends LetterLog {
  readonly topics: ReadonlyMap<string, AnyTopic>;
  /** The groups that have a member, with what they read. */
  readonly members: ReadonlyMap<string, readonly AnyTopic[]>;
  groupNames(): Promise<readonly string[]>;
  /** Saves how far the members are, so that it survives a power cut. */
  saveFloors(): Promise<void>;
}

/** Where a log may begin, as far as anybody needs its records: at the end of one of these files, which are its oldest, or where it begins now. */
export async function nextBeginning(
  log: TrimmableLog,
  { keepMs, groups }: Retention,
  aged: readonly Aged[],
  nowMs: number,
): Promise<number> {
  let { begins } = log;
  const needed = aged.some(({ end }) => end > begins) ? await neededFrom(log, groups) : 0;
  for (const { end, newestMs } of aged.filter((file) => file.end > begins)) {
    const mayWait = newestMs >= nowMs - timesWithLetters * keepMs;
    if (end > needed || (mayWait && (await lettersWait(log, begins, end)))) break;
    begins = end;
  }
  return begins;
}

/** The offset before which no group needs a record any more. */
async function neededFrom(log: TrimmableLog, groups: Retention['groups']): Promise<number> {
  await log.saveFloors();
  const inputs = new Map([...groups.map(({ name, inputs: its }) => [name, its] as const), ...log.members]);
  const names = new Set([...inputs.keys(), ...(await log.groupNames())]);
  const next = Array.from(names, async (name) => {
    // What these two note of dead letters is looked at by itself.
    if (name === redriveGroup || name === purgeGroup) return Infinity;
    const saved = await log.positions(name);
    // Of a group that this version does not know, only what it has committed says what it reads.
    const read = inputs.get(name) ?? [...log.topics.values()].filter((topic) => saved.some((it) => it.topic === topic.name));
    return Math.min(...read.map((topic) => nextOffset(saved, topic)));
  });
  return Math.min(...(await Promise.all(next)));
}

/** Whether there are dead letters from an offset up to another that were neither sent back nor deleted. */
async function lettersWait(log: TrimmableLog, from: number, to: number): Promise<boolean> {
  const places = new PositionedLetters(log);
  for (const { name } of log.topics.values()) if ((await places.waiting(deadLettersOf(name), { from, to })) > 0) return true;
  return false;
}
