import { redriveGroup, type LetterPlace, type LetterPlaces, type Span } from '#log';
import { everyPartition, type GroupPosition } from './positions.js';

/** Letters before the offset of this group count as deleted: the log itself keeps them. It is no group of consumers. */
export const purgeGroup = 'dlq.purge';

/** Keeps positions of groups, and knows where dead letters are. */
export interface LetterLog {
  /** Offset at which the log begins. */
  readonly begins: number;
  positions(group: string): Promise<readonly GroupPosition[]>;
  save(positions: readonly GroupPosition[]): Promise<void>;
  countLetters(topic: string, from: number, to?: number): Promise<number>;
}

/** Keeps which letters are there and which were sent back as positions of groups. A single letter has its own offset for a partition. */
export class PositionedLetters implements LetterPlaces {
  constructor(private readonly log: LetterLog) {}

  async of(letters: string): Promise<LetterPlace> {
    const of = async (group: string): Promise<readonly GroupPosition[]> =>
      (await this.log.positions(group)).filter(({ topic }) => topic === letters);
    const floor = (positions: readonly GroupPosition[]): number => positions.find((it) => it.partition === everyPartition)?.next ?? 0;
    const [redriven, purged] = await Promise.all([of(redriveGroup), of(purgeGroup)]);
    const next = floor(redriven);
    const first = Math.max(floor(purged), this.log.begins);
    const singles = redriven.map(({ partition }) => partition).filter((offset) => offset >= Math.max(first, next));
    return { first, next, singles };
  }

  /** @param span where to look; everywhere when left out. */
  async waiting(letters: string, span: Span = { from: 0, to: Infinity }): Promise<number> {
    const { first, next, singles } = await this.of(letters);
    const from = Math.max(first, next, span.from);
    if (from >= span.to) return 0;
    const sent = singles.filter((offset) => offset >= from && offset < span.to);
    return (await this.log.countLetters(letters, from, span.to)) - sent.length;
  }

  /** Nobody else has the folder open. */
  async keep(letters: string, _: LetterPlace, { next, singles }: LetterPlace): Promise<void> {
    const place = { group: redriveGroup, topic: letters };
    const noted = singles.map((offset) => ({ ...place, partition: offset, next: offset + 1 }));
    await this.log.save([{ ...place, partition: everyPartition, next }, ...noted]);
  }

  async delete(letters: string, before: number): Promise<void> {
    await this.log.save([{ group: purgeGroup, topic: letters, partition: everyPartition, next: before }]);
  }
}
