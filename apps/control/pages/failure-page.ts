import { errorCases, type TelemetryError } from '#model';
import { html, type Html } from './html.js';
import { layout } from './layout.js';
import type { Visit } from './visit.js';

/** What a person sees in place of the page. */
export function failurePage({ code, message }: TelemetryError, requestId: string, visit: Visit | undefined): Html {
  const { title } = errorCases[code];
  return layout({
    title,
    ...(visit && { visit }),
    main: html`<div class="narrow">
      <h1>${title}</h1>
      <p>${message}</p>
      <p><a class="button" href="/">Go to the start</a></p>
      <p class="quiet">
        If it happens again, tell the operator this number: <code>${requestId}</code>.
        <a href="/errors/${code}">What the code <code>${code}</code> means</a>
      </p>
    </div>`,
  });
}
