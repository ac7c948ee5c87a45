import type { GenerationStore } from '#stores';
import type { Report } from './adapters.js';
import type { LiveGenerations } from './live-generations.js';

const againMs = 1000;

/**
 * Reports what the tables of the live generation lack: at the start, and again when readers are moved. Tries again while the store is away.
 * Returns a function that ends this.
 */
export function tellShortcomings(
  generations: Pick<LiveGenerations, 'ready' | 'current' | 'changes'>,
  stores: Pick<GenerationStore, 'shortcomings'>,
  report: Report,
): () => void {
  let told: number | undefined;
  let timer: NodeJS.Timeout | undefined;
  let ended = false;
  const tell = async (): Promise<void> => {
    clearTimeout(timer);
    const live = generations.current?.live;
    if (ended || live === undefined || live === told) return;
    try {
      const sentences = await stores.shortcomings(live);
      if (ended || told === live) return;
      told = live;
      for (const sentence of sentences) report(sentence);
    } catch {
      timer = setTimeout(() => void tell(), againMs).unref();
    }
  };
  const endChanges = generations.changes(() => void tell());
  generations.ready.then(tell, () => undefined);
  return () => {
    ended = true;
    clearTimeout(timer);
    endChanges();
  };
}
