import type { Flaw } from './errors.js';
import { severities, type Severity } from './monitor.js';
import { fitsUtf8, isOrgId } from './names.js';
import { normalEmail } from './people.js';

/** `slack` is for everything that takes what Slack takes, such as Mattermost; `webhook` is for programs, and its requests are signed. */
export const targetKinds = ['slack', 'discord', 'teams', 'ntfy', 'email', 'webhook'] as const;
export type TargetKind = (typeof targetKinds)[number];

/** Targets of one organization at most. */
export const maxTargets = 20;
export const maxTargetNameChars = 100;
export const maxTargetUrlBytes = 2048;

/** Why nothing is sent to a target: somebody has asked for that, every attempt of a day has failed, or it has answered that it is gone. */
export const pauseReasons = ['asked', 'failing', 'gone'] as const;
export type PauseReason = (typeof pauseReasons)[number];

/** For so long a webhook is signed with the secret before too, once it has another one. */
export const formerSecretMs = 86_400_000;

/** A secret that another one has replaced, and that signs beside it until then, Unix milliseconds. */
export interface FormerSecret {
  readonly secret: string;
  readonly untilMs: number;
}

/** Where alerts are told. */
export interface TargetDefinition {
  /** For people; may be empty. */
  readonly name: string;
  readonly kind: TargetKind;
  /** A URL; of kind `email` an address. It may be all that is needed to write there, so it is kept as a secret is. */
  readonly to: string;
  /** Alerts that matter less are not told. */
  readonly minSeverity: Severity;
}

export interface AlertTarget extends TargetDefinition {
  readonly orgId: string;
  readonly targetId: string;
  /** Signs what is sent to a webhook: `whsec_` and base64. Empty for the other kinds. */
  readonly secret: string;
  /** Null where no other secret was before. */
  readonly formerSecret: FormerSecret | null;
  /** Unix milliseconds. */
  readonly createdMs: number;
  /** When it was last changed, Unix milliseconds: each change has its own. */
  readonly changedMs: number;
  /** Null while alerts are told. */
  readonly paused: PauseReason | null;
}

/** What signs requests now: the newest first, two at most, none of what is not signed. */
export function secretsOf({ secret, formerSecret }: AlertTarget, nowMs: number): readonly string[] {
  if (secret === '') return [];
  return formerSecret && nowMs < formerSecret.untilMs ? [secret, formerSecret.secret] : [secret];
}

/**
 * The target with another secret. What signed before signs for `formerSecretMs` more. A second secret within that time takes the place of
 * the first, which perhaps nobody has stored: the receiver still knows the one from before both.
 */
export function rotated(target: AlertTarget, secret: string, nowMs: number): AlertTarget {
  const former = secretsOf(target, nowMs).at(-1)!;
  return { ...target, secret, formerSecret: { secret: former, untilMs: nowMs + formerSecretMs } };
}

export const isTold = (severity: Severity, { minSeverity }: TargetDefinition): boolean =>
  severities.indexOf(severity) >= severities.indexOf(minSeverity);

/** The definition as it is kept: a URL and an address have one way to be written. */
export const normalTarget = <T extends TargetDefinition>(target: T): T => ({
  ...target,
  to: (target.kind === 'email' ? normalEmail(target.to) : URL.parse(target.to)?.href) ?? target.to,
});

/** What is wrong with a definition, each with a pointer into the body that an API client sends. */
export function flawsOfTarget({ name, kind, to }: TargetDefinition): readonly Flaw[] {
  const isName = name.isWellFormed() && /^\P{Cc}*$/u.test(name) && name.length <= maxTargetNameChars;
  return [
    ...(isName ? [] : [flaw('/name', `Use at most ${maxTargetNameChars} characters, none of them a control character.`)]),
    ...(kind === 'email' ? flawsOfEmail(to) : flawsOfUrl(kind, to)),
  ];
}

function flawsOfUrl(kind: TargetKind, text: string): readonly Flaw[] {
  const url = URL.parse(text);
  const isFine = url && ['http:', 'https:'].includes(url.protocol) && url.hostname && fitsUtf8(text, maxTargetUrlBytes);
  if (!isFine) return [flaw('/url', `Use a URL of at most ${maxTargetUrlBytes} bytes that begins with https:// or http://.`)];
  if (url.username || url.password) return [flaw('/url', 'Use a URL without a name or password before the host.')];
  if (kind === 'ntfy' && !topicOf(url)) return [flaw('/url', 'Use the URL of a topic, such as https://ntfy.sh/my-topic.')];
  return [];
}

/** What separates addresses in a header stands in none of them, so that one address is one. */
function flawsOfEmail(text: string): readonly Flaw[] {
  const isOne = normalEmail(text) !== undefined && !/[,;:<>()[\]"\\]/.test(text);
  return isOne ? [] : [flaw('/email', 'Use one e-mail address, such as ops@example.com.')];
}

/** The topic of an ntfy URL; undefined when it names none. */
export const topicOf = ({ pathname }: URL): string | undefined => /^\/([\w-]{1,64})\/?$/.exec(pathname)?.[1];

const flaw = (pointer: string, detail: string): Flaw => ({ pointer, code: 'invalid_body', detail });

const targetIdPattern = /^[A-Za-z0-9_-]{1,64}$/;

/** What is wrong with the record of a target, in words for the operator; undefined if nothing is. */
export function flawOfAlertTarget(target: AlertTarget): string | undefined {
  if (!isOrgId(target.orgId)) return 'the organization id is not one';
  if (!targetIdPattern.test(target.targetId)) return 'the target id is not one';
  const [first] = flawsOfTarget(target);
  // Without the text itself, which may be a secret.
  return first && `${first.pointer}: ${first.detail}`;
}

/** Enough of where a target is for people to know it, and too little to write there. */
export function shownTo({ kind, to }: TargetDefinition): string {
  if (kind === 'email') return to;
  const { origin, href } = new URL(to);
  return href.length - origin.length < 12 ? `${origin}/…` : `${origin}/…${href.slice(-4)}`;
}
