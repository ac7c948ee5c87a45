import { alertJson } from './alert.js';
import { secretsOf, topicOf, type AlertTarget, type TargetKind } from './alert-target.js';
import { textOf, visible, type AlertText } from './alert-text.js';
import type { Severity } from './monitor.js';
import { countOf, namesOf, type Telling } from './told-alerts.js';

/** A request to a target: POST. */
export interface HttpMessage {
  readonly url: string;
  readonly body: string;
  /** Each signs the request, as Standard Webhooks say; of what is not signed there is none. */
  readonly secrets: readonly string[];
}

export interface MailMessage {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

export type Message = { readonly id: string } & ({ readonly http: HttpMessage } | { readonly mail: MailMessage });

/** Characters that the text of a message may have, marks included: less than what the service behind it takes. */
const maxChars: Readonly<Record<Exclude<TargetKind, 'webhook'>, number>> = {
  slack: 3000,
  discord: 1900,
  teams: 6000,
  ntfy: 1000,
  email: 20_000,
};

/** What goes to a target now, in the words and marks that it takes. Names and messages are only ever text there, whatever stands in them. */
export function messageOf(target: AlertTarget, telling: Telling, nowMs: number): Message {
  const { kind, to } = target;
  const { id, told, isTest } = telling;
  if (kind === 'webhook') return { id, http: { url: to, body: JSON.stringify(webhookJson(telling)), secrets: secretsOf(target, nowMs) } };
  const text = textOf(told, isTest);
  if (kind === 'email') return { id, mail: { to, subject: visible(text.title), text: `${fit(text, maxChars.email, (line) => line)}\n` } };
  const url = kind === 'ntfy' ? new URL(`/${new URL(to).search}`, to).href : to;
  return { id, http: { url, body: JSON.stringify(chatJson[kind](text, to)), secrets: [] } };
}

/** The alert itself where it is one; else how many there are, the first of them, and the ids of all. */
function webhookJson({ told, isTest, madeMs }: Telling): object {
  const timestamp = new Date(madeMs).toISOString();
  const [first] = told.alerts;
  if (countOf(told) === 1 && first) {
    const type = first.resolvedMs === null ? 'alert.triggered' : 'alert.resolved';
    return { type, timestamp, ...(isTest && { test: true }), ...alertJson(first) };
  }
  const { triggered, resolved } = namesOf(told);
  return {
    type: 'alerts.summary',
    timestamp,
    triggered: told.triggered,
    resolved: told.resolved,
    severity: told.severity,
    alerts: told.alerts.map(alertJson),
    triggered_ids: triggered,
    resolved_ids: resolved,
  };
}

type Chat = Exclude<TargetKind, 'webhook' | 'email'>;

const priorities: Readonly<Record<Severity, number>> = { info: 3, warning: 4, critical: 5 };

const chatJson: Readonly<Record<Chat, (text: AlertText, to: string) => object>> = {
  slack: (text) => ({ text: fit(text, maxChars.slack, slackText), mrkdwn: false, unfurl_links: false, unfurl_media: false }),
  // No mentions, and no previews of links.
  discord: (text) => ({ content: fit(text, maxChars.discord, discordText), allowed_mentions: { parse: [] }, flags: 4 }),
  teams: (text) => ({ type: 'message', attachments: [card(text)] }),
  ntfy: (text, to) => ({
    topic: topicOf(new URL(to)),
    title: `${text.sign} ${text.title}`,
    message: fit({ ...text, sign: '', title: '' }, maxChars.ntfy, (line) => line) || text.title,
    priority: priorities[text.severity],
  }),
};

/**
 * Slack knows three characters that begin something. What takes the messages of Slack may read Markdown and mentions too: a character of no
 * width parts what would be one.
 */
const slackText = (line: string): string =>
  line
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('@', `@${noWidth}`)
    .replaceAll('](', `]${noWidth}(`);

/** A backslash takes the meaning from every mark of Discord. */
const discordText = (line: string): string => line.replace(/[\\`*_~|<>@#[\]()+-]/g, String.raw`\$&`);

const noWidth = '\u200B';

/** A card of Teams: the text of a run has no markup. */
function card(text: AlertText): object {
  const [title, ...lines] = fit(text, maxChars.teams, (line) => line).split('\n');
  const run = (line: string, more: object = {}): object => ({ type: 'RichTextBlock', inlines: [{ type: 'TextRun', text: line, ...more }] });
  const body = [run(title!, { weight: 'Bolder' }), ...lines.map((line) => run(line))];
  const content = { $schema: 'http://adaptivecards.io/schemas/adaptive-card.json', type: 'AdaptiveCard', version: '1.4', body };
  return { contentType: 'application/vnd.microsoft.card.adaptive', content };
}

/** The sign and the title, and as many lines as there is room for. */
function fit({ sign, title, lines }: AlertText, max: number, escaped: (line: string) => string): string {
  const fitting: string[] = title === '' ? [] : [`${sign} ${escaped(title)}`];
  let room = max - (fitting[0]?.length ?? 0);
  for (const line of lines.map(escaped)) {
    room -= line.length + 1;
    if (room < 0) return [...fitting, '…'].join('\n');
    fitting.push(line);
  }
  return fitting.join('\n');
}
