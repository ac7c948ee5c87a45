import { html, type Html } from '../html.js';
import { layout } from '../layout.js';
import type { Visit } from '../visit.js';

/** What a client on the machine of the person asks for. */
export interface CliRequest {
  /** Where the client waits for the key. */
  readonly callback: URL;
  /** What the client recognizes its own request by. */
  readonly state: string;
  readonly name: string;
}

export const cliPage = ({ callback, state, name }: CliRequest, visit: Visit): Html =>
  layout({
    title: 'Give a key to a program',
    visit,
    main: html`<div class="narrow centre card">
      <h1>Give a key to a program on this computer?</h1>
      <p>
        A program that calls itself <strong>${name}</strong> asks for a key of <strong>${visit.organization.name}</strong>. It may read all
        data of the organization, and send points. The program waits at <code>${callback.host}</code> on this computer.
      </p>
      <p>Go on only if you have started it yourself a moment ago.</p>
      <form method="post" action="/auth/cli">
        <input type="hidden" name="callback" value="${callback.href}" />
        <input type="hidden" name="state" value="${state}" />
        <input type="hidden" name="name" value="${name}" />
        <div class="row"><button>Give it a key</button> <a class="button plain" href="/">Cancel</a></div>
      </form>
    </div>`,
  });
