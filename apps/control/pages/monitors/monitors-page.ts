import { everySource, mayAs, spanText, type Monitor } from '#model';
import { boundsText } from '../alerts/alert-text.js';
import { html, type Html, type Piece } from '../html.js';
import { layout } from '../layout.js';
import { actions, confirmed, pageLinks, seen, tableOf } from '../parts.js';
import type { Visit } from '../visit.js';

export interface MonitorList {
  readonly monitors: readonly Monitor[];
  /** Only those that watch this source. */
  readonly sourceId: string | undefined;
  readonly after: string | undefined;
  /** Where the next page begins; undefined where this is the last one. */
  readonly next: string | undefined;
}

export function monitorsPage(visit: Visit, list: MonitorList, nowMs: number): Html {
  const { monitors, sourceId, after, next } = list;
  const mayChange = mayAs(visit.person.role, 'monitors');
  return layout({
    title: 'Monitors',
    visit,
    room: '/monitors',
    main: html`<div class="bar">
        <h1>Monitors</h1>
        ${mayChange && html`<p><a class="button" href="${newAddress(sourceId)}">New monitor</a></p>`}
      </div>
      ${
        sourceId !== undefined &&
        html`<p>
          Those that watch <a href="/sources/${sourceId}">${sourceId}</a>, and those of every source.
          <a href="/monitors">Show all monitors</a>
        </p>`
      }
      ${monitors.length === 0 && after === undefined ? nothingYet(mayChange) : table(monitors, mayChange, nowMs)}
      ${pageLinks(after && address({ sourceId }), next && address({ sourceId, after: next }))}`,
  });
}

const nothingYet = (mayChange: boolean): Html =>
  html`<p class="note">
    No monitor yet. A monitor watches a metric, or whether a source is heard, and tells you when something is wrong.
    ${mayChange && html`To begin, choose “Watch” beside a chart of a <a href="/">source</a>.`}
  </p>`;

function table(monitors: readonly Monitor[], mayChange: boolean, nowMs: number): Html {
  const heads = ['Source', 'Metric', 'Fires', 'Severity', 'Watches since'];
  return tableOf(
    'Monitors',
    mayChange ? [...heads, actions] : heads,
    monitors.map((monitor) => row(monitor, mayChange, nowMs)),
  );
}

function row(monitor: Monitor, mayChange: boolean, nowMs: number): readonly Piece[] {
  const { name, sourceId, metric, threshold, offline, definedMs } = monitor;
  const severities = [...new Set([threshold, offline].flatMap((one) => one?.severity ?? []))];
  return [
    sourceId === everySource ? 'every source' : html`<a href="/sources/${sourceId}">${sourceId}</a>`,
    [metric, name && html` <span class="quiet">${name}</span>`],
    conditionsOf(monitor).join('; '),
    severities.map((severity) => html`<span class="tag ${severity}">${severity}</span> `),
    seen(definedMs, nowMs),
    ...(mayChange ? [changes(monitor)] : []),
  ];
}

const changes = (monitor: Monitor): Html =>
  html`<div class="row level">
    <a href="/monitors/${monitor.monitorId}" aria-label="Change the monitor of ${titleOf(monitor)}">Change</a>
    ${confirmed('Delete', `/monitors/${monitor.monitorId}/delete`, 'Delete it', 'Its open alerts are closed.')}
  </div>`;

/** When a monitor fires, in words. */
const conditionsOf = ({ threshold, offline }: Monitor): readonly string[] => [
  ...(threshold ? [boundsText(threshold)] : []),
  ...(offline ? [`when not heard for ${spanText(offline.timeoutMs)}`] : []),
];

/** A monitor for people. */
export const titleOf = ({ name, sourceId, metric }: Pick<Monitor, 'name' | 'sourceId' | 'metric'>): string =>
  name || `${metric ?? 'silence'} of ${sourceId === everySource ? 'every source' : sourceId}`;

const newAddress = (sourceId: string | undefined): string =>
  sourceId === undefined ? '/monitors/new' : `/monitors/new?source_id=${encodeURIComponent(sourceId)}`;

function address({ sourceId, after }: { readonly sourceId: string | undefined; readonly after?: string }): string {
  const parameters = new URLSearchParams({ ...(sourceId !== undefined && { source_id: sourceId }), ...(after && { after }) });
  return parameters.size === 0 ? '/monitors' : `/monitors?${parameters.toString()}`;
}
