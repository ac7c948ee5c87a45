import { onOwnNode } from '../launch/own-node.js';

await onOwnNode(async () => (await import('./program.js')).runProgram(process.argv.slice(2)));
