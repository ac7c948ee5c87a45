import { gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';

// Says what a page loads that takes these names from a file of the library. The bundler does not run within a test.
const [file = '', names = ''] = process.argv.slice(2);
const entry = '\0entry';
const bundle = await rolldown({
  input: entry,
  platform: 'neutral',
  plugins: [
    {
      name: 'entry',
      resolveId: (id) => (id === entry ? id : undefined),
      load: (id) => (id === entry ? `export ${names} from ${JSON.stringify(file)};` : undefined),
    },
  ],
  external: /^node:/,
});
const { output } = await bundle.generate({ minify: true, format: 'es' });
const text = Buffer.from(output.map((part) => (part.type === 'chunk' ? part.code : '')).join(''));
const imports = output.flatMap((part) => (part.type === 'chunk' ? part.imports : []));
process.stdout.write(JSON.stringify({ kilobytes: text.length / 1000, zippedKilobytes: gzipSync(text).length / 1000, imports }));
