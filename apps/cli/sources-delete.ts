import { request } from '#client';
import { command } from './command.js';
import { connectionFlags, connect } from './connection.js';
import { Failure, usage } from './failure.js';
import { counted } from './text.js';

export const body = command({
  about:
    'All points and events of the device that were accepted before are gone for good, or those of one metric or event; what it sends later is of a new device. ' +
    'Without --yes it only says what that would be. The log keeps the bytes for as long as it keeps its records. Needs a key with the scope admin.',
  argument: { name: 'ID', about: 'id of the device' },
  flags: {
    ...connectionFlags,
    metric: { value: 'NAME', about: 'only this metric or event' },
    yes: { about: 'delete it' },
  },
  examples: ['headwater sources delete press-7', 'headwater sources delete press-7 --metric machine.temprature --yes'],
  async run({ metric, yes, ...flags }, io, id) {
    // Such a segment would make another path of it.
    for (const name of [id, metric ?? 'all']) if (/^\.{0,2}$/.test(name)) throw usage(`"${name}" cannot be deleted by its name.`);
    const { headwater, server } = await connect(flags, io);
    const what = metric === undefined ? id : `${metric} of ${id}`;
    if (!yes) {
      const has = metric === undefined ? `, with ${counted((await headwater.source(id).metrics()).length, 'metric')} and its events` : '';
      throw new Failure(`This would delete ${what}${has}: say --yes to do it.`);
    }
    const below = metric === undefined ? '' : `/metrics/${encodeURIComponent(metric)}`;
    await request(server, `/v1/sources/${encodeURIComponent(id)}${below}`, { method: 'DELETE' });
    io.note(`Deleted ${what}.`);
  },
});
