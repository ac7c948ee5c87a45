import { ServerProcess } from './server-process.js';

/** The embedded server and the floor of live connections, at the same time. */
export async function onBoth(task: (ours: ServerProcess, floor: ServerProcess) => Promise<void>): Promise<void> {
  const servers: ServerProcess[] = [];
  try {
    servers.push(await ServerProcess.embedded());
    servers.push(await ServerProcess.liveFloor());
    await task(servers[0]!, servers[1]!);
  } finally {
    for (const server of servers) await server.remove();
  }
}
