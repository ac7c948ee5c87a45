import { open } from 'node:fs/promises';
import type { Headwater } from '#client';
import type { Values } from './command.js';
import { connect, type connectionFlags } from './connection.js';
import { bodiesOf } from './copy-bodies.js';
import { Failure } from './failure.js';
import { historyOf, kinds, sourcePages } from './history.js';
import type { Io } from './io.js';
import { counted } from './text.js';

const always = { startMs: 0, endMs: Date.parse('9999-12-31T23:59:59.999Z') };

/**
 * Writes all that the devices of an organization have sent, with its tags, a line for each body of `POST /ingest`: source by source, first the
 * points and then the events, in the order of time. Rejects `Failure` where a time has more of a source than the API answers.
 */
export async function writeAll(headwater: Headwater, write: (text: string) => Promise<unknown>, io: Io): Promise<void> {
  const signal = io.interrupted;
  const { sources: bound } = await headwater.keys.verify({ signal });
  if (bound) io.note(`The key is for some sources only: ${bound.join(', ')}.`);
  const lacks: string[] = [];
  let [sources, entries] = [0, 0];
  for await (const ids of sourcePages(headwater, signal))
    for (const sourceId of ids) {
      for (const kind of kinds)
        for await (const page of historyOf(kind, headwater.source(sourceId), always, signal)) {
          for (const body of bodiesOf(sourceId, page.groups)) await write(`${body}\n`);
          entries += page.groups.reduce((sum, group) => sum + group.length, 0);
          if (page.lacks) lacks.push(`${sourceId}: ${page.lacks}.`);
          io.progress(() => `${sourceId}: ${counted(entries, 'entry', 'entries')}`);
        }
      sources++;
    }

  if (lacks.length > 0) throw new Failure(`What was written is not all there is. ${lacks[0]!}`);
  io.note(`Wrote ${counted(entries, 'entry', 'entries')} of ${counted(sources, 'source')}.`);
}

/**
 * Writes all of an organization to a new file, which is on the disk in the end. Rejects `Failure` when the file exists, or when the key is of another
 * organization or for some of its sources only.
 */
export async function exportAll(
  { flags, file, orgId }: { readonly flags: Values<typeof connectionFlags>; readonly file: string; readonly orgId: string },
  io: Io,
): Promise<void> {
  const { headwater } = await connect(flags, io);
  const { org_id: whose, sources } = await headwater.keys.verify({ signal: io.interrupted });
  if (whose !== orgId)
    throw new Failure(`The key is of the organization ${whose}: give one of ${orgId}, which \`headwater keys create\` makes.`);
  if (sources) throw new Failure(`The key is for some sources only (${sources.join(', ')}): give one of ${orgId} for every source.`);
  const out = await open(file, 'wx', 0o600).catch((cause: unknown) => {
    throw new Failure(`${file} cannot be made: ${(cause as Error).message}.`, undefined, { cause });
  });
  try {
    await writeAll(headwater, (text) => out.writeFile(text), io);
    await out.sync();
  } finally {
    await out.close();
  }
}
