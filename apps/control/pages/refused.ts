import type { FastifyRequest } from 'fastify';
import { statusOf } from '#edge';
import { TelemetryError } from '#model';
import { html, type Html } from './html.js';
import { Shown } from './shown.js';

/** The page with the form once more, which says why what was sent will not do. @throws what is no refusal. */
export function refused(request: FastifyRequest, error: unknown, page: (problem: string) => Html): Shown {
  if (!(error instanceof TelemetryError)) throw error;
  request.failure = error;
  return new Shown(page(sentenceOf(error)), statusOf[error.kind]);
}

/** People do not know of pointers: the field is named by its word. */
function sentenceOf({ flaws: [flaw], message }: TelemetryError): string {
  if (!flaw) return message;
  const { pointer, detail } = flaw;
  const isSentence = /^\p{Lu}/u.test(detail);
  const text = isSentence ? detail : `${pointer.split('/')[1] ?? ''} ${detail}`.trim();
  return text[0]!.toUpperCase() + text.slice(1);
}

export const problemNote = (problem: string | undefined): Html | undefined =>
  problem === undefined ? undefined : html`<p class="note bad" role="alert">${problem}</p>`;
