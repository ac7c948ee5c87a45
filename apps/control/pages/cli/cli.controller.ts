import { Get, Post, Query } from '@nestjs/common';
import { KeyCommands } from '#edge';
import { loopbackCallback, TelemetryError } from '#model';
import { keyName } from '../../keys.js';
import { type Form, FormParam } from '../form.js';
import { Pages } from '../pages.js';
import { Redirect, Shown } from '../shown.js';
import { ForVisitor, type Visit, VisitParam } from '../visit.js';
import { html, type Html } from '../html.js';
import { layout } from '../layout.js';

const maxStateChars = 512;

/** How older client libraries get a key: they open this page in a browser, and wait at a port of the same machine. */
@Pages('auth/cli')
export class CliPages {
  constructor(private readonly keys: KeyCommands) {}

  @Get()
  @ForVisitor('keys', { payment: false })
  confirm(@Query() query: Readonly<Record<string, unknown>>, @VisitParam() visit: Visit): Shown {
    const asked = checked((name) => query[name]);
    // Browsers ask the policy of the page where its form may lead in the end.
    return new Shown(cliPage(asked, visit), 200, asked.callback.origin);
  }

  @Post()
  @ForVisitor('keys', { payment: false })
  async give(@FormParam() form: Form, @VisitParam() { caller: { orgId }, person }: Visit): Promise<Redirect> {
    const { callback, state, name } = checked((field) => form.get(field) ?? undefined);
    const by = { id: person.accountId, name: person.email };
    const { secret } = await this.keys.create(orgId, { name, scopes: ['read', 'write'] }, by);
    callback.search = new URLSearchParams({ state, key: secret }).toString();
    return new Redirect(callback.href);
  }
}

/** @throws TelemetryError `invalid_parameter`. */
function checked(field: (name: string) => unknown): CliRequest {
  const [callback, state, name] = [field('callback'), field('state') ?? '', keyName.safeParse(field('name') ?? 'Command line')];
  const place = typeof callback === 'string' ? loopbackCallback(callback) : undefined;
  if (!place)
    throw wrong(
      'callback',
      'an address on this computer, such as http://127.0.0.1:53682/callback or http://localhost:53682, not http://[::1]',
    );
  if (typeof state !== 'string' || state.length > maxStateChars) throw wrong('state', `a text of at most ${maxStateChars} characters`);
  if (!name.success) throw wrong('name', 'a text of 1 to 100 characters');
  return { callback: place, state, name: name.data };
}

const wrong = (parameter: string, what: string): TelemetryError =>
  new TelemetryError('invalid_parameter', `The parameter ${parameter} must be ${what}: start the program again.`);

/** What a client on the machine of the person asks for. */
interface CliRequest {
  /** Where the client waits for the key. */
  readonly callback: URL;
  /** What the client recognizes its own request by. */
  readonly state: string;
  readonly name: string;
}

const cliPage = ({ callback, state, name }: CliRequest, visit: Visit): Html =>
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
