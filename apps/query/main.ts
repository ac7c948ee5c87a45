import { asServer } from '../launch/as-server.js';

await asServer(async () => {
  const [{ cluster, run }, { QueryModule }] = await Promise.all([import('#runtime'), import('./query.module.js')]);
  await run(QueryModule, cluster('query'));
});
