import { describe, expect, it } from '@jest/globals';
import type { Deployment } from '../deployment.js';
import { tell, type Chapter } from './chapter.js';

const perChapter = 20;
/** Most of the time of a chapter is waiting, for disks and threads. */
const atOnce = 3;

/** What to run, from the environment: one chapter of before, or so many histories from a seed. */
function chapters(env: Readonly<Record<string, string | undefined>>, most: number): readonly Chapter[] {
  const { EXACTNESS_SEED: seed, EXACTNESS_NOW: nowMs, EXACTNESS_HISTORIES: histories = seed === undefined ? most : perChapter } = env;
  const first = Number(seed ?? Math.floor(Math.random() * 1e9));
  return Array.from({ length: Math.ceil(Number(histories) / perChapter) }, (_, at) => ({
    seed: first + at * perChapter,
    nowMs: Number(nowMs ?? Date.now()),
    histories: Math.min(perChapter, Number(histories) - at * perChapter),
    interruptions: 3,
  }));
}

/** The command that repeats these chapters. */
function command(group: readonly Chapter[]): string {
  const [{ seed, nowMs }] = group as [Chapter];
  const histories = group.reduce((sum, chapter) => sum + chapter.histories, 0);
  return `EXACTNESS_SEED=${seed} EXACTNESS_NOW=${nowMs} EXACTNESS_HISTORIES=${histories} npm run jest -- exactness/`;
}

function groups(all: readonly Chapter[]): (readonly Chapter[])[] {
  return Array.from({ length: Math.ceil(all.length / atOnce) }, (_, at) => all.slice(at * atOnce, (at + 1) * atOnce));
}

/** Every answer about so many random histories equals a brute-force fold over the points that were accepted. */
export function exactnessSuite(start: () => Promise<Deployment>, histories = 40): void {
  async function failure(chapter: Chapter): Promise<string | undefined> {
    const deployment = await start();
    try {
      await tell(chapter, deployment);
      return undefined;
    } catch (error) {
      return `${command([chapter])}\n${(error as Error).stack}`;
    } finally {
      await deployment.stop();
    }
  }

  describe('answers equal the fold over what was accepted, after any mix of late, repeated and reordered bodies, crashes and a rebuild', () => {
    it.each(groups(chapters(process.env, histories)).map((group) => [command(group), group] as const))(
      '%s',
      async (_, group) => {
        const failures = await Promise.all(group.map(failure));
        expect(failures.filter((found) => found !== undefined)).toEqual([]);
      },
      600_000,
    );
  });
}
