import { organizationParameter } from '#edge';
import { mayAs, type LogEntry } from '#model';
import { findingOf, severityTag, spanOf } from '../alerts/alert-text.js';
import { chart } from '../chart/chart.js';
import { valueText } from '../chart/scale.js';
import { html, type Html, type Piece } from '../html.js';
import { layout } from '../layout.js';
import { choice, pageLinks, seen, stateOf, tableOf } from '../parts.js';
import { secondText, timeText } from '../times.js';
import type { Visit } from '../visit.js';
import { pageEvents, type MetricSeries, type SourceView } from './source-reader.js';
import { neighbours, windowNames, windowQuery, type Shown } from './window.js';

/** A source in a window of time. @param after only metrics behind this name are shown. */
export function sourcePage(visit: Visit, view: SourceView, shown: Shown, after: string | undefined): Html {
  const { source, nowMs } = view;
  return layout({
    title: source.sourceId,
    visit,
    room: '/',
    ...(shown.isNow && { script: 'live.js' }),
    main: html`<div class="stack" data-part="about">
        <p class="quiet"><a href="/">Sources</a> / ${source.sourceId}</p>
        <h1>${source.sourceId}</h1>
        <dl class="facts">
          <div>
            <dt>Connection</dt>
            <dd>${stateOf(source.online)}</dd>
          </div>
          <div>
            <dt>Last seen</dt>
            <dd>${seen(source.lastSeenMs, nowMs)}</dd>
          </div>
          <div>
            <dt>Metrics</dt>
            <dd>${view.metrics}</dd>
          </div>
          <div>
            <dt>Watched by</dt>
            <dd><a href="/monitors?source_id=${source.sourceId}">Monitors</a></dd>
          </div>
        </dl>
        ${openAlerts(view)}
      </div>
      ${picker(source.sourceId, shown, nowMs)} ${shown.isNow && live(visit, source.sourceId)}
      ${metrics(view, shown, after, mayAs(visit.person.role, 'monitors'))} ${events(view)}`,
  });
}

function openAlerts({ alerts, nowMs }: SourceView): Html | undefined {
  const open = alerts.filter(({ resolvedMs }) => resolvedMs === null);
  if (open.length === 0) return undefined;
  return html`<ul class="note warn" aria-label="Open alerts">
    ${open.map((alert) => html`<li>${severityTag(alert)} ${findingOf(alert)}, since ${seen(alert.triggeredMs, nowMs)}. <a href="/alerts">Alerts</a></li>`)}
  </ul>`;
}

/** Where a script says whether the page is up to date, and the streams that tell it. */
function live({ organization }: Visit, sourceId: string): Html {
  const streams = ['metrics', 'logs'].map(
    (kind) => `/v1/sources/${encodeURIComponent(sourceId)}/${kind}/stream?${organizationParameter}=${organization.orgId}`,
  );
  return html`<p class="quiet" role="status" data-streams="${streams.join(' ')}"></p>`;
}

/** Which window, and the ones beside it. */
function picker(sourceId: string, shown: Shown, nowMs: number): Html {
  const { size, window, isNow } = shown;
  const address = (query: string): string => `/sources/${encodeURIComponent(sourceId)}?${query}`;
  const { earlier, later } = neighbours(shown, nowMs);
  const step = (query: string | undefined, text: string): Html | undefined =>
    query === undefined ? undefined : html`<li><a href="${address(query)}">${text}</a></li>`;
  return html`<nav class="bar" aria-label="Window of time">
    <ul class="choices">
      ${windowNames.map((name) => choice(name, address(windowQuery(name, isNow ? nowMs : window.endMs, nowMs)), name === size))}
    </ul>
    <p class="quiet">
      <time datetime="${new Date(window.startMs).toISOString()}">${timeText(window.startMs)}</time> to
      ${isNow ? 'now' : html`<time datetime="${new Date(window.endMs).toISOString()}">${timeText(window.endMs)}</time>`}, UTC
    </p>
    <ul class="choices">
      ${step(earlier, 'Earlier')} ${step(later, 'Later')}
      ${isNow ? html`<li><a href="${address(`last=${size}`)}">Reload</a></li>` : step(`last=${size}`, 'Now')}
    </ul>
  </nav>`;
}

function metrics(
  { source, series, sizeMs, alerts, hasMoreMetrics }: SourceView,
  { size, window, isNow }: Shown,
  after: string | undefined,
  mayWatch: boolean,
): Html {
  if (series.length === 0 && after === undefined)
    return html`<p class="note" data-part="metrics">This source has not sent a number yet.</p>`;
  const query = isNow ? `last=${size}` : `last=${size}&end=${new Date(window.endMs).toISOString()}`;
  const base = `/sources/${encodeURIComponent(source.sourceId)}?${query}`;
  return html`<section class="charts" aria-labelledby="metrics" data-part="metrics">
      <h2 id="metrics">Metrics</h2>
      ${series.map(({ metric, buckets, newest }, nth) =>
        chart({
          id: `m${nth}`,
          metric,
          window,
          sizeMs,
          buckets,
          spans: alerts
            .filter((one) => one.metric === metric)
            .toReversed()
            .map(spanOf),
          aside: html`<div class="row level">${newestValue(newest)} ${mayWatch && watchLink(source.sourceId, metric)}</div>`,
        }),
      )}
    </section>
    ${pageLinks(
      after === undefined ? undefined : base,
      hasMoreMetrics ? `${base}&after=${encodeURIComponent(series.at(-1)!.metric)}` : undefined,
      ['First metrics', 'More metrics'],
      'More metrics',
    )}`;
}

const newestValue = (newest: MetricSeries['newest']): Html =>
  newest === undefined ? html`<span class="quiet">nothing in the last hour</span>` : html`<span class="value">${valueText(newest)}</span>`;

const watchLink = (sourceId: string, metric: string): Html =>
  html`<a href="/monitors/new?source_id=${sourceId}&amp;metric=${metric}" aria-label="Watch ${metric}">Watch</a>`;

function events({ events: entries, hasMoreEvents }: SourceView): Html {
  return html`<section class="stack" aria-labelledby="events" data-part="events">
    <div class="bar">
      <h2 id="events">Events</h2>
      ${hasMoreEvents && html`<p class="quiet">The last ${pageEvents} of this window.</p>`}
    </div>
    ${
      entries.length === 0
        ? html`<p class="quiet">None in this window.</p>`
        : tableOf('Events', ['Time (UTC)', 'Event', 'Value'], entries.map(event))
    }
  </section>`;
}

/** A longer value is folded away. */
const shortValue = 160;

const event = ({ timestampMs, metric, value, tags }: LogEntry): readonly Piece[] => [
  html`<time datetime="${new Date(timestampMs).toISOString()}">${secondText(timestampMs)}</time>`,
  metric,
  html`${
    value.length <= shortValue
      ? html`<code>${value}</code>`
      : html`<details>
          <summary><code>${value.slice(0, shortValue).toWellFormed()}…</code></summary>
          <code>${value}</code>
        </details>`
  }
  ${Object.entries(tags).map(([name, one]) => html`<span class="tag">${name}: ${one}</span> `)}`,
];
