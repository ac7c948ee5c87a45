import { onOwnNode } from '#launch';

await onOwnNode(async () => {
  const [{ cluster, run }, { IngressModule }] = await Promise.all([import('#runtime'), import('./ingress.module.js')]);
  await run(IngressModule, cluster('ingress'));
});
