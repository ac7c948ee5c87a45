import { expect } from '@jest/globals';
import { startEmbedded } from '../start-embedded.js';
import { answersOf, deadLettersOf, settled, withKeys, type OldAnswers } from './old-folders.js';

/**
 * Starts a server on a data folder, expects the answers that the version that made the folder gave, and stops the server.
 * @param path what the paths to ask have in them.
 */
export async function expectOldAnswers(dir: string, old: OldAnswers, path = ''): Promise<void> {
  const { atMs, deadLetters, asked } = await withKeys(dir, old);
  const server = await startEmbedded({ dataDir: dir, clock: () => atMs, checkpointMs: 50 });
  try {
    await settled(server);
    for (const { by, answers } of asked) {
      const paths = Object.keys(answers).filter((one) => one.includes(path));
      const expected = Object.fromEntries(paths.map((one) => [one, answers[one]]));
      // A newer version may say more.
      expect(await answersOf(server, by, paths)).toMatchObject(expected);
    }
    expect(await deadLettersOf(server)).toBe(deadLetters);
  } finally {
    await server.stop();
  }
}
