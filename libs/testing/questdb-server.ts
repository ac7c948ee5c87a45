import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startQuestDb, type QuestDbOptions, type QuestDbServer } from '../../infra/servers/index.js';
import { serverVariables } from './server-variables.js';

/** A QuestDB of the test's own, which may be killed; `settings` are environment variables. It is gone with the test run. */
export async function ownQuestDb(
  settings: Readonly<Record<string, string>> = {},
  more: Pick<QuestDbOptions, 'ports'> = {},
): Promise<QuestDbServer> {
  return startQuestDb({ folder: await mkdtemp(join(tmpdir(), 'headwater-questdb-')), settings, ...more });
}

/** Where the QuestDB is that all suites share; each takes generations of its own. */
export const sharedQuestDb = (): { readonly httpUrl: string; readonly pgUrl: string } => ({
  httpUrl: process.env[serverVariables.HEADWATER_QUESTDB_URL]!,
  pgUrl: process.env[serverVariables.HEADWATER_QUESTDB_PG]!,
});

/** Generation numbers from here on that no other suite has, nor a run before on the same server. */
export const ownGenerations = (): number => 1000 * (1 + Math.floor(Math.random() * 1e9));
