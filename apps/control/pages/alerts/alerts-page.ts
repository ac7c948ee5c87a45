import { isSilenced, mayAs } from '#model';
import type { NotedAlert } from '../../alerts/alert-book.js';
import { html, type Html, type Piece } from '../html.js';
import { layout } from '../layout.js';
import { actions, choice, pageLinks, seen, tableOf } from '../parts.js';
import { timeText } from '../times.js';
import type { Visit } from '../visit.js';
import { findingOf, resolutionText, severityTag } from './alert-text.js';

/** For how long an alert may be silenced on the page. */
export const silences = [
  { name: '1 hour', ms: 3_600_000 },
  { name: '8 hours', ms: 28_800_000 },
  { name: '1 day', ms: 86_400_000 },
  { name: '7 days', ms: 604_800_000 },
] as const;

export interface AlertList {
  readonly status: 'open' | 'resolved';
  readonly after: string | undefined;
  /** Where the next page begins; undefined where this is the last one. */
  readonly next: string | undefined;
  readonly alerts: readonly NotedAlert[];
}

export const alertsPage = (visit: Visit, { status, after, next, alerts }: AlertList, nowMs: number): Html =>
  layout({
    title: 'Alerts',
    visit,
    room: '/alerts',
    main: html`<div class="bar">
        <h1>Alerts</h1>
        <nav aria-label="Which alerts">
          <ul class="choices">
            ${choice('Open', '/alerts?status=open', status === 'open')}
            ${choice('Resolved', '/alerts?status=resolved', status === 'resolved')}
          </ul>
        </nav>
      </div>
      ${alerts.length === 0 ? html`<p class="note">${status === 'open' ? 'No alert is open.' : 'No alert has resolved yet.'}</p>` : table(visit, status, alerts, nowMs)}
      ${pageLinks(after && `/alerts?status=${status}`, next && `/alerts?status=${status}&after=${encodeURIComponent(next)}`)}`,
  });

function table(visit: Visit, status: AlertList['status'], alerts: readonly NotedAlert[], nowMs: number): Html {
  const heads = ['Source', 'Severity', 'What', 'Since', status === 'open' ? 'Said' : 'Until'];
  const mayAct = status === 'open' && mayAs(visit.person.role, 'monitors');
  return tableOf(
    'Alerts',
    mayAct ? [...heads, actions] : heads,
    alerts.map((noted) => row(noted, mayAct, nowMs)),
  );
}

function row({ alert, note }: NotedAlert, mayAct: boolean, nowMs: number): readonly Piece[] {
  const { message } = (alert.threshold ?? alert.offline)!;
  const isAcknowledged = note?.acknowledgedId === alert.alertId;
  const said = [
    isAcknowledged && html`<span class="quiet">seen by ${note.acknowledgedBy}</span> `,
    isSilenced(note, nowMs) && html`<span class="quiet">silent until ${timeText(note!.silencedUntilMs)} UTC</span>`,
  ];
  return [
    html`<a href="/sources/${alert.sourceId}">${alert.sourceId}</a>`,
    severityTag(alert),
    html`${findingOf(alert)} ${message && html`<span class="quiet">${message}</span>`}`,
    seen(alert.triggeredMs, nowMs),
    alert.resolvedMs === null
      ? said
      : html`${seen(alert.resolvedMs, nowMs)} <span class="quiet">${alert.resolution && resolutionText[alert.resolution]}</span>`,
    ...(mayAct ? [answers(alert.alertId, alert.sourceId, isAcknowledged)] : []),
  ];
}

const answers = (alertId: string, sourceId: string, isAcknowledged: boolean): Html =>
  html`<div class="row">
    ${!isAcknowledged && html`<form method="post" action="/alerts/${alertId}/acknowledge"><button class="plain">Acknowledge</button></form>`}
    <form class="row" method="post" action="/alerts/${alertId}/silence">
      <select name="for" aria-label="For how long to silence the alert of ${sourceId}">
        ${silences.map(({ name }) => html`<option>${name}</option>`)}
      </select>
      <button class="plain">Silence</button>
    </form>
  </div>`;
