import { html, type Html } from '../html.js';
import { layout } from '../layout.js';
import { choice, ingestLine, pageLinks, seen, stateOf, tableOf } from '../parts.js';
import type { Visit } from '../visit.js';
import type { ListQuestion, SourceList } from './source-list.js';

/** The sources of an organization. @param url where the API takes points. */
export function sourcesPage(visit: Visit, question: ListQuestion, list: SourceList, url: string): Html {
  return layout({
    title: 'Sources',
    visit,
    room: '/',
    main: html`<div class="bar">
        <h1>Sources</h1>
        <p class="quiet">${counted(list)}</p>
      </div>
      ${list.total === 0 ? nothingYet(url) : [tools(question), table(question, list)]}`,
  });
}

const counted = ({ total, online }: SourceList): string => `${total} source${total === 1 ? '' : 's'}, ${online} online`;

const tools = ({ search, status }: ListQuestion): Html =>
  html`<div class="bar low">
    <form class="row" role="search">
      <div class="grow">
        <label for="q">Find a source</label>
        <input type="search" id="q" name="q" value="${search}" maxlength="256" placeholder="a part of its id" />
      </div>
      ${status && html`<input type="hidden" name="status" value="${status}" />`}
      <button>Find</button>
    </form>
    <nav aria-label="Which sources">
      <ul class="choices">
        ${([undefined, 'online', 'offline'] as const).map((one) => {
          const name = one === undefined ? 'All' : one === 'online' ? 'Online' : 'Offline';
          return choice(name, addressOf({ search, status: one }), one === status);
        })}
      </ul>
    </nav>
  </div>`;

function table(question: ListQuestion, { nowMs, sources, hasMore }: SourceList): Html {
  if (sources.length === 0) return html`<p class="note">No source fits. <a href="/">Show all sources</a></p>`;
  return html`${tableOf(
    'Sources',
    ['Source', 'Connection', 'Last seen', 'Open alerts'],
    sources.map(({ sourceId, online, lastSeenMs, openAlerts }) => [
      html`<a href="/sources/${sourceId}">${sourceId}</a>`,
      stateOf(online),
      seen(lastSeenMs, nowMs),
      openAlerts > 0 ? html`<span class="tag warning">${openAlerts}</span>` : html`<span class="quiet">none</span>`,
    ]),
  )}
  ${pageLinks(
    question.after && addressOf({ ...question, after: undefined }),
    hasMore ? addressOf({ ...question, after: sources.at(-1)!.sourceId }) : undefined,
  )}`;
}

const nothingYet = (url: string): Html =>
  html`<section class="card stack">
    <h2>No sources yet</h2>
    <p>A source appears here with the first point that it sends. Send one with an <a href="/keys">API key</a>:</p>
    ${ingestLine(url, '$HEADWATER_API_KEY')}
  </section>`;

/** The page that answers a question. */
export function addressOf({ search, status, after }: ListQuestion): string {
  const parameters = new URLSearchParams({ ...(search && { q: search }), ...(status && { status }), ...(after && { after }) });
  return parameters.size === 0 ? '/' : `/?${parameters.toString()}`;
}
