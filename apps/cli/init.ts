import { defaultUrl, headerValue, Headwater, serverUrl, settingsFile, writeSettings } from '#client';
import { command } from './command.js';
import { connectionFlags } from './connection.js';
import { ask, askSecret, firstLineOfInput } from './ask.js';
import type { Io } from './io.js';
import { onDataPlane } from './target.js';

export const body = command({
  about:
    'Asks for what is not given, checks the key with the server, and writes both to a file that only you can read: ' +
    'headwater/config.json in $XDG_CONFIG_HOME or ~/.config. The key comes from --api-key, HEADWATER_API_KEY, a question on the ' +
    'terminal, or the first line of stdin. With --data-plane it makes topics, schemas and tables instead, in the Kafka, the registry ' +
    'and the QuestDB that HEADWATER_KAFKA_BROKERS and its like name, and the first organization with its key, which is printed once, and a link that makes its first owner; ' +
    'what is there already stays as it is.',
  flags: { ...connectionFlags, dataPlane: { about: 'make what all roles need' } },
  interactive: true,
  examples: ['headwater init', 'headwater init --url https://telemetry.example.com < key.txt', 'headwater init --data-plane'],
  async run({ dataPlane, ...flags }, io) {
    if (dataPlane) return makeDataPlane(flags.url, io);
    const url = serverUrl(flags.url || process.env['HEADWATER_URL'] || (await ask('Address of the server', defaultUrl)));
    const apiKey = headerValue(flags.apiKey || process.env['HEADWATER_API_KEY'] || (await givenKey()));
    const { scopes } = await new Headwater({ url, apiKey, patienceMs: 0 }).keys.verify();
    await writeSettings({ url, apiKey });
    io.note(`The key works (scopes: ${scopes.join(', ')}). Wrote ${settingsFile()}.`);
  },
});

async function makeDataPlane(url: string | undefined, io: Io): Promise<void> {
  const base = serverUrl(url || process.env['HEADWATER_URL'] || defaultUrl);
  await onDataPlane(async ({ firstOwnerLink, initDataPlane, ownerText, welcome }, config) => {
    const firstKey = await initDataPlane(config, (line) => io.note(line));
    const link = await firstOwnerLink(config, config.publicUrl || base);
    if (firstKey) await io.data(welcome(base, firstKey, link, `Topics, schemas and tables are made. Once the roles run at ${base}:`));
    else io.note('The data plane is there, with its first organization and key.');
    if (!firstKey && link) await io.data(ownerText(link));
  });
}

const givenKey = (): Promise<string> => (process.stdin.isTTY ? askSecret('API key (not shown)') : firstLineOfInput());
