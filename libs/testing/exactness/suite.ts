import { describe, expect, it } from '@jest/globals';
import type { Deployment } from '../deployment.js';
import { tell, type Chapter } from './chapter.js';

const perChapter = 20;

/** What to run, from the environment: one chapter of before, or so many histories from a seed. */
function chapters(env: Readonly<Record<string, string | undefined>>): readonly Chapter[] {
  const { EXACTNESS_SEED: seed, EXACTNESS_NOW: nowMs, EXACTNESS_HISTORIES: histories = seed === undefined ? '300' : `${perChapter}` } = env;
  const first = Number(seed ?? Math.floor(Math.random() * 1e9));
  return Array.from({ length: Math.ceil(Number(histories) / perChapter) }, (_, at) => ({
    seed: first + at * perChapter,
    nowMs: Number(nowMs ?? Date.now()),
    histories: Math.min(perChapter, Number(histories) - at * perChapter),
    interruptions: 5,
  }));
}

const command = ({ seed, nowMs, histories }: Chapter): string =>
  `EXACTNESS_SEED=${seed} EXACTNESS_NOW=${nowMs} EXACTNESS_HISTORIES=${histories} npm run jest -- exactness`;

/** Every answer about random histories equals a brute-force fold over the points that were accepted. */
export function exactnessSuite(start: () => Promise<Deployment>): void {
  describe('answers equal the fold over what was accepted, after any mix of late, repeated and reordered bodies, crashes and a rebuild', () => {
    it.each(chapters(process.env).map((chapter) => [command(chapter), chapter] as const))(
      '%s',
      async (_, chapter) => {
        const deployment = await start();
        try {
          await expect(tell(chapter, deployment)).resolves.toBeUndefined();
        } finally {
          await deployment.stop();
        }
      },
      300_000,
    );
  });
}
