import { setFlagsFromString } from 'node:v8';
import { onOwnNode } from './own-node.js';

/** Young garbage that a busy server makes dies before it is moved twice, at some megabytes of memory. */
const semiSpace = '--max-semi-space-size';
/**
 * V8 would put what one line of code makes among the old objects where much of it lived long. Node makes the list of an emitter's listeners on
 * one line, for connections, which live long, and for requests: a dead request among the old objects keeps all that it refers to until the next
 * collection of the whole heap. Small requests then cost a tenth more.
 */
const youngFirst = '--no-allocation-site-pretenuring';
const flags = [`${semiSpace}=8`, youngFirst];
/**
 * For a server with a small heap and many buffers. V8 collects the whole of a small heap each time that heap and buffers together have grown by 16 MB. With
 * this flag it waits until they are three times as large as after the last collection.
 */
export const manyBuffers: readonly string[] = ['--heap-growing-percent=200'];
/**
 * For a server that keeps many small objects for a second or two, such as rows until they are sent. V8 collects young objects each time that their space is full,
 * and copies those that are still in use. With a larger space it collects less often, and by then fewer objects are still in use.
 */
export const manyRows: readonly string[] = [`${semiSpace}=32`];
/**
 * Settings of glibc; other C libraries ignore them. More than two pools of memory only keep what other threads have freed. Linux mostly gives pages of 2 MB only
 * to programs that ask for them, and the second setting makes glibc ask: pages of 4 KB cost a server that fills much new memory some percent of its CPU.
 */
const environment = { MALLOC_ARENA_MAX: '2', GLIBC_TUNABLES: 'glibc.malloc.hugetlb=1' };

/**
 * As `onOwnNode`, with the memory of the process set for a server. That counts only from the start of a process, so it becomes a new one
 * under its old id, unless it was started with the setting; where a process cannot or may not do that, it starts as it is.
 *
 * @param more flags of V8 for this server; each overrides a flag of the same name that every server has.
 */
export async function asServer(start: () => Promise<unknown>, more: readonly string[] = []): Promise<void> {
  await onOwnNode(async () => {
    if (!process.execArgv.some((flag) => flag.startsWith(semiSpace)) && mayBecomeAnother()) becomeServer(more);
    // Each storage thread sets a limit of its own, which V8 would ignore while this flag is set.
    setFlagsFromString(`${semiSpace}=0`);
    await start();
  });
}

const mayBecomeAnother = (): boolean => (process.permission as typeof process.permission | undefined)?.has('child') !== false;

function becomeServer(more: readonly string[]): void {
  const words = [process.execPath, ...flags, ...more, ...process.execArgv, ...process.argv.slice(1)];
  process.execve?.(process.execPath, words, { ...environment, ...process.env });
}
