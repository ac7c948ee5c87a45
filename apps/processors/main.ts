import { onOwnNode } from '#launch';

await onOwnNode(async () => {
  const [{ cluster, run }, { ProcessorsModule }] = await Promise.all([import('#runtime'), import('./processors.module.js')]);
  await run(ProcessorsModule, cluster('processors'));
});
