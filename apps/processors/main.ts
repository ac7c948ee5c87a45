import { asServer } from '#launch';

await asServer(async () => {
  const [{ cluster, run }, { ProcessorsModule }] = await Promise.all([import('#runtime'), import('./processors.module.js')]);
  await run(ProcessorsModule, cluster('processors'));
});
