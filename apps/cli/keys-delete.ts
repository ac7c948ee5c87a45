import { command } from './command.js';
import { connectionFlags, connect } from './connection.js';

export const body = command({
  about:
    'The key stops working everywhere within 10 seconds, on open connections too. Needs a key with the scope admin. Once the last key with ' +
    'that scope is deleted, only `headwater keys create --data` on the folder of the stopped server makes another.',
  argument: { name: 'ID', about: 'id of the key, as `headwater keys list` shows it' },
  flags: connectionFlags,
  examples: ['headwater keys delete key_5f2a9c01b7d34e68a0c1f2e3'],
  async run(flags, io, id) {
    const { headwater } = await connect(flags, io);
    await headwater.keys.delete(id);
    io.note(`Deleted ${id}.`);
  },
});
