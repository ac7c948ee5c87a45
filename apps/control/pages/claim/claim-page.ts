import type { ShownClaim } from '../../claims/claims.js';
import { html, type Html } from '../html.js';
import { layout } from '../layout.js';
import { problemNote } from '../refused.js';
import { secondText, timeText } from '../times.js';
import type { Visit } from '../visit.js';

/** Asks for the code. */
export const codePage = (visit: Visit, code: string, problem?: string): Html =>
  layout({
    title: 'Approve a key',
    visit,
    main: html`<div class="narrow centre card">
      <h1>Approve a key</h1>
      <p>A device or a command that asks for a key shows a code. Type it here to see who asks.</p>
      ${problemNote(problem)}
      <form action="/claim">
        <div>
          <label for="code">Code</label>
          <input
            id="code"
            name="code"
            value="${code}"
            placeholder="XXXX-XXXX"
            autocomplete="off"
            autocapitalize="characters"
            spellcheck="false"
            required
          />
        </div>
        <p><button>Go on</button></p>
      </form>
    </div>`,
  });

/** Who asks, and for what. */
export const claimPage = (visit: Visit, { userCode, name, address, startedMs, expiresMs, scopes, sources }: ShownClaim): Html =>
  layout({
    title: 'Approve a key',
    visit,
    main: html`<div class="narrow centre card">
      <h1>Give a key to ${name}?</h1>
      <p>Something that calls itself <strong>${name}</strong> asks for a key. Go on only if it shows this code:</p>
      <p class="code">${userCode}</p>
      <dl class="facts">
        <div>
          <dt>It asks from</dt>
          <dd>${address}</dd>
        </div>
        <div>
          <dt>Since (UTC)</dt>
          <dd><time datetime="${new Date(startedMs).toISOString()}">${secondText(startedMs)}</time></dd>
        </div>
        <div>
          <dt>The code is good until (UTC)</dt>
          <dd><time datetime="${new Date(expiresMs).toISOString()}">${timeText(expiresMs)}</time></dd>
        </div>
        <div>
          <dt>The key may</dt>
          <dd>${scopes.includes('write') ? 'send points, and read' : 'read'}</dd>
        </div>
        <div>
          <dt>For the sources</dt>
          <dd>${sources.includes('*') ? 'all' : html`<code>${sources.join(', ')}</code>`}</dd>
        </div>
      </dl>
      <form method="post" action="/claim">
        <input type="hidden" name="code" value="${userCode}" />
        <div>
          <label for="organization">Of the organization</label>
          <select id="organization" name="organization">
            ${visit.organizations.map(({ orgId, name: its }) => html`<option value="${orgId}" ?selected="${orgId === visit.organization.orgId}">${its}</option>`)}
          </select>
        </div>
        <div class="row">
          <button name="decision" value="approve">Approve</button>
          <button class="plain" name="decision" value="deny">Deny</button>
        </div>
      </form>
    </div>`,
  });

export const donePage = (visit: Visit, isApproved: boolean): Html =>
  layout({
    title: isApproved ? 'Approved' : 'Denied',
    visit,
    main: html`<div class="narrow centre card">
      <h1>${isApproved ? 'Approved' : 'Denied'}</h1>
      <p>
        ${isApproved ? 'Go back: the key arrives there within a few seconds. It is shown nowhere else.' : 'Who asked is told so, and gets no key.'}
      </p>
      <p><a class="button" href="/">Go to the start</a></p>
    </div>`,
  });
