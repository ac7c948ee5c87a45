import type { Asker } from './asker.js';
import type { KafkaAddress } from './client.js';
import { setOffsets } from './set-offsets.js';

/** The group whose offsets say which dead letters were sent back. */
export const redriveGroup = 'dlq.redrive';

/** Kafka takes 4,096 bytes beside an offset, unless it is set otherwise. */
const mostNoted = 4_000;

/** Why letters are not sent back, in a sentence for the operator. */
export class RedriveRefused extends Error {}

/** Which letters of a topic were sent back: all before an offset, and single ones behind it. Kafka keeps it as a group's offset. */
export class RedrivePlace {
  private constructor(
    private readonly address: KafkaAddress,
    private readonly asker: Asker,
    private readonly topic: string,
    private kept: { readonly offset: string; readonly metadata: string },
  ) {}

  /** @param topic as Kafka calls it. */
  static async of(address: KafkaAddress, asker: Asker, topic: string): Promise<RedrivePlace> {
    return new RedrivePlace(address, asker, topic, await read(address, asker, topic));
  }

  /** The first letter that was not sent back, but for single ones. */
  get next(): number {
    return Math.max(0, Number(this.kept.offset));
  }

  has(offset: number): boolean {
    return offset < this.next || this.#singles().includes(offset);
  }

  /** Everything before an offset was sent back. */
  keep(next: number): Promise<void> {
    const singles = this.#singles().filter((it) => it >= next);
    return next > this.next ? this.#write(next, singles) : Promise.resolve();
  }

  /** @throws RedriveRefused when no more single letters can be noted. */
  demandRoom(): void {
    if (this.kept.metadata.length > mostNoted)
      throw new RedriveRefused('Too many dead letters were sent back one by one: send the ones before them back with --all.');
  }

  /** A single letter was sent back. */
  add(offset: number): Promise<void> {
    return this.#write(this.next, [...this.#singles(), offset]);
  }

  #singles(): readonly number[] {
    return this.kept.metadata === '' ? [] : this.kept.metadata.split(',').map(Number);
  }

  async #write(next: number, singles: readonly number[]): Promise<void> {
    const metadata = singles.join(',');
    const now = await read(this.address, this.asker, this.topic);
    if (now.offset !== this.kept.offset || now.metadata !== this.kept.metadata)
      throw new RedriveRefused(`Another redrive of ${this.topic} has run meanwhile: some letters may have been sent back twice.`);
    await setOffsets(this.address, groupOf(this.address), [{ topic: this.topic, partition: 0, offset: next, metadata }]);
    this.kept = { offset: `${next}`, metadata };
  }
}

const groupOf = ({ prefix = '' }: KafkaAddress): string => prefix + redriveGroup;

async function read(address: KafkaAddress, asker: Asker, topic: string): Promise<{ readonly offset: string; readonly metadata: string }> {
  const [found] = await asker.ask((admin) => admin.fetchOffsets({ groupId: groupOf(address), topics: [topic] }));
  const place = found?.partitions.find(({ partition }) => partition === 0);
  return { offset: place?.offset ?? '-1', metadata: place?.metadata ?? '' };
}
