import type { AlertTarget, Attempt, PauseReason, TargetKind } from '#model';
import { html, type Html } from '../html.js';

export const kindText: Readonly<Record<TargetKind, string>> = {
  slack: 'Slack, or what takes its messages',
  discord: 'Discord',
  teams: 'Microsoft Teams',
  ntfy: 'ntfy',
  email: 'E-mail',
  webhook: 'Webhook: signed JSON for a program',
};

/** Whether alerts are told there. */
export const stateOfTarget = ({ paused }: AlertTarget): Html => {
  if (paused === null) return html`<span class="state on">told</span>`;
  return html`<span class="state">paused</span> ${paused !== 'asked' && html`<span class="quiet">${whyPaused[paused]}</span>`}`;
};

const whyPaused: Readonly<Record<Exclude<PauseReason, 'asked'>, string>> = {
  failing: 'all attempts of a day have failed',
  gone: 'it answers that it is gone (410)',
};

const outcomeText: Readonly<Record<Attempt['outcome'], string>> = {
  delivered: 'delivered',
  failed: 'failed',
  blocked: 'blocked',
  given_up: 'given up',
  refused: 'refused',
  gone: 'gone',
};

export const outcomeTag = ({ outcome }: Attempt): Html =>
  html`<span class="tag ${outcome === 'delivered' ? 'good' : 'critical'}">${outcomeText[outcome]}</span>`;

export const nameOf = ({ name, kind }: Pick<AlertTarget, 'name' | 'kind'>): string => name || kind;
