import { Api } from './api.js';
import { command } from './command.js';
import { connectionFile, connectionFlags, defaultUrl, headerValue, serverUrl, writeConnection } from './connection.js';
import { ask, askSecret, firstLineOfInput } from './ask.js';

interface Verified {
  readonly org_id: string;
  readonly scopes: readonly string[];
}

export const body = command({
  about:
    'Asks for what is not given, checks the key with the server, and writes both to a file that only you can read: ' +
    'headwater/config.json in $XDG_CONFIG_HOME or ~/.config. The key comes from --api-key, HEADWATER_API_KEY, a question on the ' +
    'terminal, or the first line of stdin.',
  flags: connectionFlags,
  examples: ['headwater init', 'headwater init --url https://telemetry.example.com < key.txt'],
  async run(flags, io) {
    const url = serverUrl(flags.url || process.env['HEADWATER_URL'] || (await ask('Address of the server', defaultUrl)));
    const apiKey = headerValue(flags.apiKey || process.env['HEADWATER_API_KEY'] || (await givenKey()));
    const { scopes } = (await new Api({ url, apiKey }).request('/api/auth/verify-key')) as Verified;
    await writeConnection({ url, apiKey });
    io.note(`The key works (scopes: ${scopes.join(', ')}). Wrote ${connectionFile()}.`);
  },
});

const givenKey = (): Promise<string> => (process.stdin.isTTY ? askSecret('API key (not shown)') : firstLineOfInput());
