import { asServer, manyRows } from '../launch/as-server.js';

await asServer(async () => {
  const [{ cluster, run }, { ProcessorsModule }] = await Promise.all([import('#runtime'), import('./processors.module.js')]);
  await run(ProcessorsModule, cluster('processors'));
}, manyRows);
