import { describe, expect, it } from '@jest/globals';
import { eventually } from '../eventually.js';
import type { Answer } from '../http/send.js';
import type { EntryJson, FleetJson, QueryJson } from '../http/client.js';
import { known, problem, type Section } from './stage.js';

const at = Date.UTC(2024, 5, 6, 7);
const window = 'start=2024-06-06T00:00:00Z&end=2024-06-07T00:00:00Z';

/** What is read of a source: names of metrics, raw points, counts of hours, and values of events. */
interface Known {
  readonly listed: boolean;
  readonly names: readonly string[];
  readonly points: Readonly<Record<string, readonly number[]>>;
  readonly hours: Readonly<Record<string, readonly number[]>>;
  readonly events: readonly string[];
  /** Of the sources with this metric, those that were asked about. */
  readonly fleet: readonly string[];
}

const nothing: Known = { listed: false, names: [], points: {}, hours: {}, events: [], fleet: [] };

export const deletions: Section = (stage) => {
  const erase = (path: string, who = stage().own): Promise<Answer> => who.ask({ method: 'DELETE', path: `/v1/sources/${path}` });
  const sent = (sourceId: string, metric: string, value: number): Promise<void> =>
    stage().own.accepted({
      source_id: sourceId,
      points: [
        { metric, value, timestamp: at },
        { metric, value: `said ${value}`, class: 'event', timestamp: at },
      ],
    });
  /** Once it is as expected. The metric has a name of its own, so that the fleet is only of these rows. */
  const reads = (sourceId: string, metric: string, expected: Known): Promise<void> =>
    known(async () => {
      const { own } = stage();
      const path = `/v1/sources/${sourceId}`;
      const series = async (interval: string): Promise<QueryJson['series']> =>
        (await own.json<QueryJson>(`${path}/metrics/query?${window}&interval=${interval}`)).series;
      const columns = (of: QueryJson['series'], name: 'value' | 'count'): Known['points'] =>
        Object.fromEntries(Object.entries(of).map(([one, its]) => [one, its[name]!]));
      const { sources } = await own.json<FleetJson>(`/v1/fleet/metrics?metric=${metric}&${window}&interval=1h`);
      const found: Known = {
        listed: (await own.ask({ path })).status === 200,
        names: await own.json<string[]>(`${path}/metrics`),
        points: columns(await series('raw'), 'value'),
        hours: columns(await series('1h'), 'count'),
        events: (await own.json<EntryJson[]>(`${path}/logs?${window}`)).map(({ value }) => value),
        fleet: sources.map(({ source_id: id }) => id).filter((id) => id === sourceId),
      };
      expect(found).toEqual(expected);
    });
  const all = (sourceId: string, metrics: readonly (readonly [name: string, value: number])[]): Known => ({
    listed: true,
    names: metrics.map(([name]) => name),
    points: Object.fromEntries(metrics.map(([name, value]) => [name, [value]])),
    hours: Object.fromEntries(metrics.map(([name]) => [name, [1]])),
    events: metrics.map(([, value]) => `said ${value}`),
    fleet: [sourceId],
  });

  describe('a deletion', () => {
    it('of a source takes all of it and nothing of others, and what comes later is a new source', async () => {
      const [gone, other] = [stage().id('gone'), stage().id('gone-not')];
      const [a, b] = [`a.${stage().run}.s`, `b.${stage().run}.s`] as const;
      for (const id of [gone, other]) {
        await sent(id, a, 1);
        await sent(id, b, 2);
      }
      const both = [
        [a, 1],
        [b, 2],
      ] as const;
      for (const id of [gone, other]) await reads(id, a, all(id, both));
      expect(await erase(gone)).toMatchObject({ status: 204, text: '' });
      await reads(gone, a, nothing);
      await sent(gone, b, 3);
      await reads(gone, b, all(gone, [[b, 3]]));
      await reads(gone, a, { ...all(gone, [[b, 3]]), fleet: [] });
      await reads(other, a, all(other, both));
    });

    it('of a metric takes its points and events, and what comes later is a new one', async () => {
      const id = stage().id('half-gone');
      const [a, b] = [`a.${stage().run}.m`, `b.${stage().run}.m`] as const;
      await sent(id, a, 1);
      await sent(id, b, 2);
      // A source is known a moment after its first post is answered. The metric is deleted as soon as that is so, whatever is stored of it.
      await eventually(async () => expect(await erase(`${id}/metrics/${a}`)).toMatchObject({ status: 204, text: '' }));
      await reads(id, b, all(id, [[b, 2]]));
      await reads(id, a, { ...all(id, [[b, 2]]), fleet: [] });
      await sent(id, a, 3);
      await reads(id, a, {
        ...all(id, [
          [a, 3],
          [b, 2],
        ]),
        events: ['said 2', 'said 3'],
      });
    });

    it('is for keys with the scope admin, of what there is', async () => {
      const id = stage().id('nobody');
      const writer = stage().client((await stage().newKey(['read', 'write'])).api_key);
      for (const path of [id, `${id}/metrics/a`]) {
        problem(await erase(path, writer), 403, 'missing_scope');
        problem(await erase(path), 404, 'unknown_source');
      }
      problem(await erase('-'), 400, 'invalid_source_id');
      problem(await erase(`${id}/metrics/%00`), 400, 'invalid_metric');
    });
  });
};
