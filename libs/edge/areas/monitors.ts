import { entry, Grouped, tombstone } from '#log';
import {
  everySource,
  monitorDecider,
  type MonitorCommand,
  type MonitorDefinition,
  type MonitorEvent,
  type MonitorOutcome,
  type MonitorsState,
} from '#model';
import { monitorCommands, monitorKey, monitors } from '#topics';
import type { Area } from './area.js';

/** Which monitors an organization has. */
export const monitorsArea: Area<MonitorsState, MonitorCommand, MonitorEvent, MonitorOutcome> = {
  name: 'monitors',
  topic: monitorCommands,
  topics: [monitors],
  decider: monitorDecider,

  stateIn(views) {
    const all = views.open(monitors);
    const bySource = new Grouped(all, ({ orgId, sourceId }) => `${orgId}/${sourceId}`);
    return (orgId) => ({
      count: all.count(`${orgId}/`),
      find: (monitorId) => all.get(monitorKey({ orgId, monitorId })),
      of: (sourceId) => [...bySource.of(`${orgId}/${sourceId}`)],
    });
  },

  outcomeOf: ({ outcome: word, monitorId: about }) => ({ word, about }),

  effectsOf({ before, after }) {
    if (after) return after === before ? [] : [entry(monitors, after)];
    return before ? [tombstone(monitors, monitorKey(before))] : [];
  },

  auditOf({ monitorId: about, before, after }) {
    const monitor = after ?? before;
    if (!monitor || after === before) return [];
    return [{ did: `monitor.${!before ? 'created' : after ? 'changed' : 'deleted'}`, about, text: inWords(monitor) }];
  },
};

function inWords({ name, sourceId, metric }: MonitorDefinition): string {
  const where = sourceId === everySource ? 'every source' : sourceId;
  const what = `${metric ?? 'silence'} of ${where}`;
  return name ? `${name} (${what})` : what;
}
