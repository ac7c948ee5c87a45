import { command } from './command.js';

export const body = command({
  about: 'Settings are read from the environment, as with `npm start`. Ctrl-C stops it once what was accepted is durable.',
  flags: {},
  interactive: true,
  examples: ['headwater serve', 'HEADWATER_PORT=9090 HEADWATER_DATA=/var/lib/headwater headwater serve'],
  async run() {
    await import('../embedded/main.js');
  },
});
