import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startQuestDb, type QuestDbServer } from '../../infra/servers/index.js';

/** A QuestDB of the test's own, which may be killed; `settings` are environment variables. It is gone with the test run. */
export async function ownQuestDb(settings: Readonly<Record<string, string>> = {}): Promise<QuestDbServer> {
  return startQuestDb({ folder: await mkdtemp(join(tmpdir(), 'headwater-questdb-')), settings });
}
