import { gauge, type Metric } from '#model';
import { deadLettersOf } from './dead-letter.js';
import type { LetterPlaces } from './dead-letters.js';
import type { AnyTopic } from './topic.js';

/** Counting asks the log about every topic. */
const countEveryMs = 30_000;

/** The figure of the dead letters that nobody has sent back. */
export function waitingLetters(places: Pick<LetterPlaces, 'waiting'>, topics: readonly AnyTopic[]): Metric {
  const count = ({ name }: AnyTopic): Promise<{ labels: { topic: string }; value: number }> => {
    const topic = deadLettersOf(name);
    return places.waiting(topic).then((value) => ({ labels: { topic }, value }));
  };
  return gauge(
    'headwater_dead_letters',
    'Dead letters that wait to be sent back, by their topic; counted at most twice a minute.',
    keptFor(countEveryMs, () => Promise.all(topics.map(count))),
  );
}

/** Asks again once an answer is older than `ms`. A failure is not kept. */
function keptFor<T>(ms: number, ask: () => Promise<T>): () => Promise<T> {
  let kept: { readonly answer: Promise<T>; readonly atMs: number } | undefined;
  return () => {
    if (kept && performance.now() - kept.atMs < ms) return kept.answer;
    const fresh = { answer: ask(), atMs: performance.now() };
    fresh.answer.catch(() => (kept = undefined));
    return (kept = fresh).answer;
  };
}
