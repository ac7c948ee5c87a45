import { explain, type ExplainedCode } from '../error-page.js';
import { html, type Html } from './html.js';
import { layout } from './layout.js';

/** What a code means and what to do about it. */
export function codePage(code: ExplainedCode): Html {
  const { title, status, remedy, again, where } = explain(code);
  return layout({
    title: code,
    main: html`<article class="narrow">
      <h1><code>${code}</code></h1>
      <p>${title}. ${status}</p>
      <h2>What to do</h2>
      <p>${remedy}</p>
      <h2>May the same request be sent again?</h2>
      <p>${again}</p>
      ${where.split('\n').map((line) => html`<p class="quiet">${line}</p>`)}
    </article>`,
  });
}
