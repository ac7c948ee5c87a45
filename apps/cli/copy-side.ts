import { readFile } from 'node:fs/promises';
import { Headwater, HeadwaterError, serverUrl } from '#client';
import { connect } from './connection.js';
import { exitCodes, Failure, usage } from './failure.js';
import type { Io } from './io.js';

/** How the command line and the environment name one of the two servers. */
export interface SideFlags {
  readonly name: 'origin' | 'target';
  readonly url: string;
  readonly apiKey: string | undefined;
  readonly flag: string;
  readonly variable: string;
}

/** One of the two servers. What goes wrong with it is told with its name. */
export class CopySide {
  private constructor(
    readonly url: string,
    readonly orgId: string,
    readonly apiKey: string,
    private readonly headwater: Headwater,
    private readonly inWords: (error: unknown) => unknown,
  ) {}

  /** @param needed the scope that the key must have. */
  static async open(flags: SideFlags, needed: 'write' | undefined, io: Io): Promise<CopySide> {
    const { name, flag, variable } = flags;
    const inWords = (error: unknown): unknown => {
      if (error instanceof Failure) return new Failure(`The ${name}: ${error.message}`, error.exitCode, { cause: error });
      if (!(error instanceof HeadwaterError)) return error;
      const { code, status, message } = error;
      const hint = status === 401 ? ` Check ${flag}, or ${variable}.` : '';
      return new Failure(`The ${name}: ${message}${hint}`, code === 'invalid_argument' ? exitCodes.usage : exitCodes.failed, {
        cause: error,
      });
    };
    try {
      const apiKey = await keyOf(flags);
      const url = serverUrl(flags.url);
      const { headwater } = await connect({ url, apiKey }, io);
      const { org_id: orgId, scopes, sources } = await headwater.keys.verify({ signal: io.interrupted });
      if (needed && !scopes.includes(needed))
        throw new Failure(`The key of the ${name} lacks the scope ${needed}: give another with ${flag}.`);
      if (sources && !sources.includes('*')) io.note(`The key of the ${name} is for some sources only: ${sources.join(', ')}.`);
      return new CopySide(url, orgId, apiKey, headwater, inWords);
    } catch (error) {
      throw error instanceof Failure ? error : inWords(error);
    }
  }

  async ask<T>(question: (headwater: Headwater) => Promise<T>): Promise<T> {
    try {
      return await question(this.headwater);
    } catch (error) {
      throw this.inWords(error);
    }
  }

  async *read<T>(pages: (headwater: Headwater) => AsyncGenerator<T, void>): AsyncGenerator<T, void> {
    const all = pages(this.headwater);
    for (;;) {
      const next = await this.ask(() => all.next());
      if (next.done) return;
      yield next.value;
    }
  }
}

/** The key of a flag, a variable, or the file that a variable names. */
async function keyOf({ name, apiKey, flag, variable }: SideFlags): Promise<string> {
  const inVariable = process.env[variable];
  const file = process.env[`${variable}_FILE`];
  if (inVariable && file) throw usage(`Set ${variable} or ${variable}_FILE, not both.`);
  const key = apiKey || inVariable || (file && (await textOf(file, `${variable}_FILE`)));
  if (!key) throw usage(`There is no API key for the ${name}: set ${variable} or ${variable}_FILE, or give ${flag}.`);
  return key.trim();
}

async function textOf(file: string, variable: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    // Its name is not shown: somebody may have taken it for the place of the key itself.
    throw usage(`${variable} names a file that cannot be read (${(cause as NodeJS.ErrnoException).code}).`);
  }
}
