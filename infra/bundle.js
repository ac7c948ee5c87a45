/**
 * Makes a few files of the two thousand modules that a process loads, so that it starts in about half the time, and one of those that a thread loads,
 * without what others need, so that it takes less memory. Schemas and assets stay where they are, so a module is told the place that it was taken from.
 */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';

/**
 * @param root folder of the project. The apps of `dist/apps` go to `dist/bundled`, each by its name. Where the bundler is not installed
 * (`npm ci --omit=optional`), what stands there loads the modules one by one.
 */
export async function bundle(root) {
  const [from, to] = [join(root, 'dist/apps'), join(root, 'dist/bundled')];
  const apps = readdirSync(from).filter((app) => existsSync(join(from, app, 'main.js')));
  const bundler = await import('rolldown').catch(() => undefined);
  if (!bundler) {
    mkdirSync(to, { recursive: true });
    for (const app of apps) writeFileSync(join(to, `${app}.js`), `import '../apps/${app}/main.js';\n`);
    return;
  }
  const threads = readdirSync(join(root, 'dist'), { recursive: true }).filter(
    (path) => path.endsWith('.worker.js') && !path.startsWith('bundled'),
  );
  await write(bundler, Object.fromEntries(apps.map((app) => [app, join(from, app, 'main.js')])), to, true);
  for (const thread of threads) await write(bundler, { [basename(thread, '.js')]: join(root, 'dist', thread) }, to, false);
}

/** @param input a file by the name of what is made of it. */
async function write(bundler, input, to, cleanDir) {
  const build = await bundler.rolldown({
    input,
    platform: 'node',
    // Native code is loaded from its package, and kafkajs by `require` too, which must find the same modules.
    external: /^(@node-rs\/|kafkajs)/,
    plugins: [ownPlaces(to)],
    // Packages that others would use if they were there.
    onLog: (level, log, report) => (log.code === 'UNRESOLVED_IMPORT' ? undefined : report(level, log)),
  });
  // Those of licences stay.
  const comments = { legal: true, annotation: false, jsdoc: false };
  const { output } = await build.write({ dir: to, format: 'esm', cleanDir, comments });
  await build.close();
  for (const { code, fileName } of output) if (code) writeFileSync(join(to, fileName), inAscii(code));
}

/** A process keeps the text of its modules, at two bytes for each character of a text that has one outside of Latin-1. */
const inAscii = (code) => code.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** What begins a thread looks for its file beside itself, and so in the folder of the bundles. */
const ownPlaces = (to) => ({
  name: 'own places',
  transform: {
    filter: { code: 'import.meta.url' },
    handler: (code, id) =>
      code.includes('.worker.js')
        ? undefined
        : code.replaceAll('import.meta.url', `new URL(${JSON.stringify(relative(to, id))}, import.meta.url).href`),
  },
});
