import {
  maxTargetNameChars,
  maxTargets,
  maxTargetUrlBytes,
  severities,
  shownTo,
  targetKinds,
  type AlertTarget,
  type Attempt,
} from '#model';
import { html, type Html, type Piece } from '../html.js';
import { layout } from '../layout.js';
import { seen, tableOf } from '../parts.js';
import { problemNote } from '../refused.js';
import type { Visit } from '../visit.js';
import { kindText, nameOf, outcomeTag, stateOfTarget } from './target-text.js';

export interface ShownTarget {
  readonly target: AlertTarget;
  /** The newest attempt. */
  readonly last: Attempt | undefined;
}

/** A form as it was filled in. */
export interface TargetForm {
  readonly kind: string;
  readonly name: string;
  readonly to: string;
  readonly severity: string;
  readonly problem?: string;
}

/** Where an organization is told of alerts, and the form for another place. */
export const targetsPage = (visit: Visit, targets: readonly ShownTarget[], nowMs: number, form: TargetForm): Html =>
  layout({
    title: 'Alert targets',
    visit,
    room: '/targets',
    main: html`<h1>Alert targets</h1>
      ${
        targets.length === 0
          ? html`<p class="note">Nobody is told of alerts yet: make a target below.</p>`
          : tableOf(
              'Alert targets',
              ['Name', 'To', 'From severity', 'Alerts are', 'Last attempt'],
              targets.map((one) => row(one, nowMs)),
            )
      }
      ${
        targets.length < maxTargets || form.problem !== undefined
          ? newForm(form)
          : html`<p class="quiet">These are ${maxTargets}, as many as an organization may have.</p>`
      }`,
  });

const row = ({ target, last }: ShownTarget, nowMs: number): readonly Piece[] => [
  html`<a href="/targets/${target.targetId}">${nameOf(target)}</a>`,
  html`${target.name && html`<span class="quiet">${target.kind}</span> `}<code>${shownTo(target)}</code>`,
  html`<span class="tag ${target.minSeverity}">${target.minSeverity}</span>`,
  stateOfTarget(target),
  last ? html`${outcomeTag(last)} ${seen(last.atMs, nowMs)}` : html`<span class="quiet">none yet</span>`,
];

const newForm = ({ kind, name, to, severity, problem }: TargetForm): Html =>
  html`<section class="card narrow" aria-labelledby="new">
    <h2 id="new">Make a target</h2>
    ${problemNote(problem)}
    <form method="post" action="/targets">
      <div>
        <label for="kind">Kind</label>
        <select id="kind" name="kind">
          ${targetKinds.map((one) => html`<option value="${one}" ?selected="${one === kind}">${kindText[one]}</option>`)}
        </select>
      </div>
      <div>
        <label for="to">Where</label>
        <input id="to" name="to" value="${to}" maxlength="${maxTargetUrlBytes}" required autocomplete="off" aria-describedby="to-hint" />
        <p class="hint" id="to-hint">The URL that the service has given you; of e-mail the address.</p>
      </div>
      ${nameField(name)} ${severityField(severity)}
      <p><button>Make the target</button></p>
    </form>
  </section>`;

export const nameField = (name: string): Html =>
  html`<div>
    <label for="name">Name</label>
    <input id="name" name="name" value="${name}" maxlength="${maxTargetNameChars}" autocomplete="off" aria-describedby="name-hint" />
    <p class="hint" id="name-hint">For people, such as on call; may be empty.</p>
  </div>`;

export const severityField = (severity: string): Html =>
  html`<div>
    <label for="severity">From severity</label>
    <select id="severity" name="severity" aria-describedby="severity-hint">
      ${severities.map((one) => html`<option ?selected="${one === severity}">${one}</option>`)}
    </select>
    <p class="hint" id="severity-hint">Alerts that matter less are not told there.</p>
  </div>`;
