import { readFileSync } from 'node:fs';
import { Command, CommanderError, Option } from 'commander';
import type { CommandBody, Flag } from './command.js';
import { commands } from './commands.js';
import { exitCodes } from './failure.js';
import { finish, Io } from './io.js';

const manifest = new URL('../../../package.json', import.meta.url);
const afterHelp = `
URL and key come from --url and --api-key, else from HEADWATER_URL and HEADWATER_API_KEY, else from the file that \`headwater login\` or \`headwater init\` writes.
Exit codes: 0 done, 1 failed or differs, 2 wrong usage, 130 interrupted.`;

/** What commands of two words have in common, by the first. */
const families: Readonly<Record<string, string>> = {
  sources: 'Delete what devices have sent',
  keys: 'Create, list and delete API keys',
  org: 'List, create and change organizations',
  people: 'List, invite and remove people, and let them set another password',
  dlq: 'List, show and send back what consumer groups of the data plane could not use',
};

/** Runs one command and sets the exit code of the process. */
export async function runProgram(args: readonly string[]): Promise<void> {
  const io = new Io();
  try {
    await program(io).parseAsync(args, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
    else finish(io, error);
  }
}

function program(io: Io): Command {
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string };
  const root = new Command('headwater')
    .description('Device telemetry on an event log.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'print help of a command')
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error:/, 'headwater:')) })
    .enablePositionalOptions()
    .addHelpText('after', afterHelp);
  for (const [path, entry] of Object.entries(commands)) {
    const leaf = path.split(' ').reduce(child, root);
    leaf.description(entry.summary);
    leaf.parent!.hook('preSubcommand', async (_, chosen) => {
      if (chosen === leaf) define(leaf, await entry.load(), io);
    });
  }
  root
    .command('version')
    .description('Print the version')
    .action(() => io.data(`${version}\n`));
  return root;
}

/** The command of this name below `parent`, made at the first call. */
function child(parent: Command, name: string): Command {
  const known = parent.commands.find((command) => command.name() === name);
  if (known) return known;
  const made = parent.command(name).showHelpAfterError(`(\`${pathOf(parent)} ${name} --help\` shows examples)`);
  return made.description(families[name] ?? '');
}

const pathOf = (command: Command): string => (command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name());

function define(leaf: Command, body: CommandBody, io: Io): void {
  leaf.description(`${leaf.description()}.\n\n${body.about}`);
  for (const one of [body.argument, body.secondArgument]) if (one) leaf.argument(`<${one.name}>`, one.about);
  for (const [name, flag] of Object.entries(body.flags)) {
    leaf.addOption(option(name, flag));
    if (flag.many) leaf.setOptionValueWithSource(name, [], 'default');
    if (!flag.value) leaf.setOptionValueWithSource(name, false, 'default');
  }
  leaf.addHelpText('after', `\nExamples:\n${body.examples.map((line) => `  ${line}`).join('\n')}`);
  leaf.action(() => {
    const done = body.run(leaf.opts(), io, leaf.args[0] ?? '', leaf.args[1] ?? '');
    return body.interactive ? done : io.during(pathOf(leaf), done);
  });
}

function option(name: string, flag: Flag): Option {
  const typed = `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  const made = new Option(flag.value ? `${typed} <${flag.value}>` : typed, flag.about).makeOptionMandatory(flag.required ?? false);
  if (flag.many) made.argParser((value: string, before: readonly string[]) => [...before, value]);
  return made.default(flag.default);
}
