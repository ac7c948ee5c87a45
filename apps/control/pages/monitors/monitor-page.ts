import { everySource, maxAlertMessageBytes, maxMonitorNameChars, severities, type Monitor, type Severity } from '#model';
import { severityTag, spanOf } from '../alerts/alert-text.js';
import { chart } from '../chart/chart.js';
import { valueText } from '../chart/scale.js';
import { html, type Html, type Piece } from '../html.js';
import { layout } from '../layout.js';
import { tableOf } from '../parts.js';
import { problemNote } from '../refused.js';
import { lengthText, secondText } from '../times.js';
import type { Visit } from '../visit.js';
import { labels, trialSizes, type MonitorForm, type TrialSize } from './monitor-form.js';
import { titleOf } from './monitors-page.js';
import type { Trial } from './trials.js';

/** What the page of a monitor shows. */
export interface ShownMonitor {
  /** Undefined for one that is to be defined. */
  readonly monitor?: Monitor | undefined;
  readonly form: MonitorForm;
  readonly trial?: Trial | undefined;
  readonly problem?: string | undefined;
}

const sizeNames: Readonly<Record<TrialSize, string>> = { '24h': 'last 24 hours', '7d': 'last 7 days' };
/** Firings in the table of a trial. */
const maxTableRows = 12;

/** The form of a monitor, and what a trial of it has come to. */
export function monitorPage(visit: Visit, { monitor, form, trial, problem }: ShownMonitor): Html {
  const title = monitor ? titleOf(monitor) : 'New monitor';
  return layout({
    title,
    visit,
    room: '/monitors',
    main: html`<div class="stack">
        <p class="quiet"><a href="/monitors">Monitors</a> / ${title}</p>
        <h1>${title}</h1>
      </div>
      ${problemNote(problem)}
      <form method="post" action="${monitor ? `/monitors/${monitor.monitorId}` : '/monitors'}">
        ${monitor && html`<input type="hidden" name="defined" value="${form.defined}" />`}
        <section class="card stack" aria-labelledby="what">
          <h2 id="what">What is watched</h2>
          ${monitor ? fixedFields(monitor) : freeFields(form)}
        </section>
        <fieldset class="card stack" aria-describedby="threshold-hint">
          <legend class="unseen">Values outside of bounds</legend>
          <h2 aria-hidden="true">Values outside of bounds</h2>
          <p class="hint" id="threshold-hint">
            Max, min, or both. Clear keeps an alert open until a value is that far back inside. Leave all of it empty to watch for silence
            only.
          </p>
          <div class="fields">
            ${numberField(form, 'max')} ${numberField(form, 'clear_max')} ${numberField(form, 'min')} ${numberField(form, 'clear_min')}
            ${numberField(form, 'for_seconds')} ${severityField('severity', form.severity)}
          </div>
          ${messageField('message', form.message)}
        </fieldset>
        <fieldset class="card stack" aria-describedby="silence-hint">
          <legend class="unseen">Silence</legend>
          <h2 aria-hidden="true">Silence</h2>
          <p class="hint" id="silence-hint">No connection, and nothing sent, for so long. Empty where silence is fine.</p>
          <div class="fields">${numberField(form, 'timeout_seconds')} ${severityField('offline_severity', form.offline_severity)}</div>
          ${messageField('offline_message', form.offline_message)}
        </fieldset>
        ${form.source_id.trim() === everySource && tryOnField(form)}
        <div class="row">
          <button>${monitor ? 'Save the change' : 'Save the monitor'}</button>
          ${trialSizes.map((size) => tryButton(monitor, size))}
        </div>
        <p class="quiet">
          Points that come after it is saved count${monitor && ', and an open alert of the old definition closes'}. Trying it changes
          nothing.
        </p>
      </form>
      ${trial && trialSection(trial)}`,
  });
}

const tryOnField = (form: MonitorForm): Html =>
  html`<div>
    <label for="try_on">Source to try it on</label>
    <input id="try_on" name="try_on" value="${form.try_on}" maxlength="256" autocomplete="off" aria-describedby="try-on-hint" />
    <p class="hint" id="try-on-hint">The id of one source: the monitor watches every source, but is tried on one.</p>
  </div>`;

const tryButton = (monitor: Monitor | undefined, size: TrialSize): Html => {
  const name = `Try it on the ${sizeNames[size]}`;
  return monitor
    ? html`<button class="plain" formmethod="get" formaction="/monitors/${monitor.monitorId}#trial" name="try" value="${size}">
        ${name}
      </button>`
    : html`<button class="plain" formmethod="get" formaction="/monitors/new#trial" name="try" value="${size}">${name}</button>`;
};

const fixedFields = (monitor: Monitor): Html =>
  html`<dl class="facts">
      <div>
        <dt>Source</dt>
        <dd>${monitor.sourceId === everySource ? 'every source' : html`<a href="/sources/${monitor.sourceId}">${monitor.sourceId}</a>`}</dd>
      </div>
      ${
        monitor.metric !== null &&
        html`<div>
          <dt>Metric</dt>
          <dd>${monitor.metric}</dd>
        </div>`
      }
    </dl>
    ${nameField(monitor.name)}`;

const freeFields = ({ source_id: sourceId, metric, name }: MonitorForm): Html =>
  html`<div class="fields">
      <div>
        <label for="source_id">Source</label>
        <input
          id="source_id"
          name="source_id"
          value="${sourceId}"
          required
          maxlength="256"
          autocomplete="off"
          aria-describedby="source-hint"
        />
        <p class="hint" id="source-hint">Its id, or * for every source.</p>
      </div>
      <div>
        <label for="metric">Metric</label>
        <input id="metric" name="metric" value="${metric}" maxlength="256" autocomplete="off" aria-describedby="metric-hint" />
        <p class="hint" id="metric-hint">A source and a metric have one monitor: the same again takes its place.</p>
      </div>
    </div>
    ${nameField(name)}`;

const nameField = (name: string): Html =>
  html`<div>
    <label for="name">Name</label>
    <input id="name" name="name" value="${name}" maxlength="${maxMonitorNameChars}" autocomplete="off" aria-describedby="name-hint" />
    <p class="hint" id="name-hint">For people; may be empty.</p>
  </div>`;

const numberField = (form: MonitorForm, name: keyof typeof labels): Html =>
  html`<div>
    <label for="${name}">${labels[name]}</label>
    <input type="number" step="any" id="${name}" name="${name}" value="${form[name]}" autocomplete="off" />
  </div>`;

const severityField = (name: string, chosen: string): Html =>
  html`<div>
    <label for="${name}">Severity</label>
    <select id="${name}" name="${name}">
      ${severities.map((one: Severity) => html`<option ?selected="${one === chosen}">${one}</option>`)}
    </select>
  </div>`;

const messageField = (name: string, message: string): Html =>
  html`<div>
    <label for="${name}">Message</label>
    <input id="${name}" name="${name}" value="${message}" maxlength="${maxAlertMessageBytes}" autocomplete="off" />
  </div>`;

function trialSection({ definition, shown, backtest, alerts, buckets }: Trial): Html {
  const { window, size } = shown;
  const threshold = definition.threshold!;
  const isWhole = backtest.untilMs >= window.endMs;
  return html`<section class="stack" id="trial" aria-labelledby="trial-name">
    <h2 id="trial-name">${fired(alerts.length)} in the ${sizeNames[size as TrialSize]}, on ${definition.sourceId}</h2>
    ${!isWhole && html`<p class="note warn">There is more than one trial looks at: it has come to ${secondText(backtest.untilMs)} UTC.</p>`}
    ${chart({
      id: 'trial-chart',
      metric: definition.metric!,
      window,
      sizeMs: buckets.sizeMs,
      buckets: buckets.of(definition.metric!),
      spans: alerts.map((alert) => ({ ...spanOf(alert), endMs: alert.resolvedMs ?? (isWhole ? null : backtest.untilMs) })),
      bounds: [threshold.max, threshold.min].filter((bound) => bound !== null),
      aside: html`<span class="quiet">${backtest.points} points evaluated</span>`,
    })}
    ${alerts.length > 0 && firings(alerts)}
  </section>`;
}

const fired = (times: number): Piece =>
  times === 0 ? 'It would not have fired' : times === 1 ? 'It would have fired once' : `It would have fired ${times} times`;

const firings = (alerts: Trial['alerts']): Html =>
  tableOf(
    'When it would have fired',
    ['From (UTC)', 'To (UTC)', 'For', 'Severity', { name: 'Last value', kind: 'number' }],
    alerts.slice(-maxTableRows).toReversed().map(firing),
    alerts.length > maxTableRows ? `The last ${maxTableRows}` : undefined,
  );

const firing = (alert: Trial['alerts'][number]): readonly Piece[] => [
  html`<time>${secondText(alert.triggeredMs)}</time>`,
  alert.resolvedMs === null ? 'still open' : html`<time>${secondText(alert.resolvedMs)}</time>`,
  alert.resolvedMs !== null && lengthText(alert.resolvedMs - alert.triggeredMs),
  severityTag(alert),
  alert.value !== null && valueText(alert.value),
];
