import { redriveGroup, type LetterPlace, type LetterPlaces } from '#log';
import { OperatorError } from '#model';
import type { Asker } from './asker.js';
import type { KafkaAddress } from './client.js';
import { setOffsets } from './groups.js';

/** Keeps which letters were sent back as the offset of a group, with the single ones beside it: Kafka takes 4,096 bytes there. */
export class KafkaLetterPlaces implements LetterPlaces {
  readonly #prefix: string;

  constructor(
    private readonly address: KafkaAddress,
    private readonly asker: Asker,
  ) {
    this.#prefix = address.prefix ?? '';
  }

  async of(letters: string): Promise<LetterPlace> {
    const [found] = await this.asker.ask((admin) => admin.fetchOffsets({ groupId: this.#group, topics: [this.#prefix + letters] }));
    const { offset = '-1', metadata } = found?.partitions.find(({ partition }) => partition === 0) ?? {};
    return { first: 0, next: Math.max(0, Number(offset)), singles: metadata ? metadata.split(',').map(Number) : [] };
  }

  async waiting(letters: string): Promise<number> {
    const topic = this.#prefix + letters;
    const [{ low, high } = { low: 0, high: 0 }] = (await this.asker.extentsOf([topic])).get(topic) ?? [];
    const { next, singles } = await this.of(letters);
    const first = Math.max(low, next);
    return Math.max(0, high - first) - singles.filter((offset) => offset >= first && offset < high).length;
  }

  async keep(letters: string, before: LetterPlace, { next, singles }: LetterPlace): Promise<void> {
    const now = await this.of(letters);
    if (now.next !== before.next || now.singles.join() !== before.singles.join())
      throw new OperatorError(`Another redrive of ${letters} has run meanwhile: some letters may have been sent back twice.`);
    const metadata = singles.join();
    await setOffsets(this.address, this.#group, [{ topic: this.#prefix + letters, partition: 0, offset: next, metadata }]);
  }

  async delete(letters: string, before: number): Promise<void> {
    const topic = this.#prefix + letters;
    await this.asker.ask(async (admin) => {
      // It finds the leader only of topics that it has been asked for.
      await admin.fetchTopicOffsets(topic);
      await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: String(before) }] });
    });
  }

  get #group(): string {
    return this.#prefix + redriveGroup;
  }
}
