import { asServer } from '../launch/as-server.js';

await asServer(async () => {
  const [{ cluster, run }, { GatewayModule }] = await Promise.all([import('#runtime'), import('./gateway.module.js')]);
  await run(GatewayModule, cluster('gateway'));
});
