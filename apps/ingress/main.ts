import { asServer, manyBuffers } from '../launch/as-server.js';

await asServer(async () => {
  const [{ cluster, run }, { IngressModule }] = await Promise.all([import('#runtime'), import('./ingress.module.js')]);
  await run(IngressModule, cluster('ingress'));
}, manyBuffers);
