import { maxAttemptsKept, maxTargetUrlBytes, secretsOf, shownTo, type AlertTarget, type Attempt } from '#model';
import { html, type Html, type Piece } from '../html.js';
import { layout } from '../layout.js';
import { confirmed, seen, tableOf } from '../parts.js';
import { problemNote } from '../refused.js';
import { timeText } from '../times.js';
import type { Visit } from '../visit.js';
import { nameField, severityField } from './targets-page.js';
import { kindText, nameOf, outcomeTag, stateOfTarget } from './target-text.js';

/** A target, what may be done with it, and its latest deliveries. @param attempts newest first. */
export const targetPage = (
  visit: Visit,
  target: AlertTarget,
  attempts: readonly Attempt[],
  nowMs: number,
  { name, severity, problem }: { readonly name: string; readonly severity: string; readonly problem?: string },
): Html => {
  const { targetId, paused } = target;
  return layout({
    title: nameOf(target),
    visit,
    room: '/targets',
    main: html`<div class="stack">
        <p class="quiet"><a href="/targets">Alert targets</a> / ${nameOf(target)}</p>
        <h1>${nameOf(target)}</h1>
        <dl class="facts">
          <div>
            <dt>Kind</dt>
            <dd>${kindText[target.kind]}</dd>
          </div>
          <div>
            <dt>To</dt>
            <dd><code>${shownTo(target)}</code></dd>
          </div>
          <div>
            <dt>Alerts are</dt>
            <dd>${stateOfTarget(target)}</dd>
          </div>
          ${
            secretsOf(target, nowMs).length > 1 &&
            html`<div>
              <dt>Signed with</dt>
              <dd>its secret and, until ${timeText(target.formerSecret!.untilMs)} UTC, the one before</dd>
            </div>`
          }
          <div>
            <dt>Made</dt>
            <dd>${seen(target.createdMs, nowMs)}</dd>
          </div>
        </dl>
        ${problemNote(problem)}
        <div class="row level">
          <form method="post" action="/targets/${targetId}/test"><button>Send a sample</button></form>
          <form method="post" action="/targets/${targetId}/pause">
            <input type="hidden" name="paused" value="${paused === null ? 'yes' : 'no'}" />
            <button class="plain">${paused === null ? 'Pause' : 'Resume'}</button>
          </form>
          ${
            target.kind === 'webhook' &&
            confirmed(
              'New secret',
              `/targets/${targetId}/secret`,
              'Make a new secret',
              'For 24 hours requests are signed with the one before too. What was made within the last 24 hours is replaced.',
            )
          }
          ${confirmed('Delete', `/targets/${targetId}/delete`, `Delete ${nameOf(target)}`, 'Nothing is told there any more.')}
        </div>
        ${paused !== null && html`<p class="quiet">What fires while it is paused is never told.</p>`}
      </div>
      <section class="stack" aria-labelledby="deliveries">
        <h2 id="deliveries">Latest deliveries</h2>
        ${attempts.length === 0 ? html`<p class="quiet">None yet.</p>` : deliveries(attempts, nowMs)}
      </section>
      <section class="card narrow" aria-labelledby="change">
        <h2 id="change">Change it</h2>
        <form method="post" action="/targets/${targetId}">
          ${nameField(name)}
          <div>
            <label for="to">Another place</label>
            <input id="to" name="to" maxlength="${maxTargetUrlBytes}" autocomplete="off" aria-describedby="to-hint" />
            <p class="hint" id="to-hint">Empty: it stays where it is.</p>
          </div>
          ${severityField(severity)}
          <p><button>Save the change</button></p>
        </form>
      </section>`,
  });
};

const deliveries = (attempts: readonly Attempt[], nowMs: number): Html =>
  tableOf(
    'Latest deliveries',
    ['When', 'Outcome', 'Told', 'Answer', { name: 'Took', kind: 'number' }],
    attempts.map((one) => attemptRow(one, nowMs)),
    attempts.length === maxAttemptsKept ? `The last ${maxAttemptsKept} attempts` : undefined,
  );

const attemptRow = (attempt: Attempt, nowMs: number): readonly Piece[] => {
  const { atMs, isTest, transitions, status, error, againMs, tookMs } = attempt;
  return [
    seen(atMs, nowMs),
    html`${outcomeTag(attempt)} ${againMs !== null && againMs > nowMs && html`<span class="quiet">again ${seen(againMs, nowMs)}</span>`}`,
    isTest ? 'a sample' : `${transitions} transition${transitions === 1 ? '' : 's'}`,
    html`${status} ${error && html`<span class="quiet">${error}</span>`}`,
    `${tookMs} ms`,
  ];
};

/** What a webhook is signed with, once. */
export const secretPage = (visit: Visit, target: AlertTarget, nowMs: number): Html =>
  layout({
    title: 'A new secret',
    visit,
    room: '/targets',
    main: html`<h1>The target ${nameOf(target)}</h1>
      <section class="card stack">
        <p>
          Its requests are signed with this secret, as Standard Webhooks say: your program checks them with it.
          <strong>It is shown this once</strong>: nobody can show it again.
        </p>
        ${
          secretsOf(target, nowMs).length > 1 &&
          html`<p>Until ${timeText(target.formerSecret!.untilMs)} UTC the one before signs them too: change over before that.</p>`
        }
        <pre tabindex="0"><code>${target.secret}</code></pre>
        <p><a class="button" href="/targets/${target.targetId}">I have stored it</a></p>
      </section>`,
  });
