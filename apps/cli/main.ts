import { onOwnNode } from '#launch';

await onOwnNode(async () => (await import('./program.js')).runProgram(process.argv.slice(2)));
