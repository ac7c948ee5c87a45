import { asServer } from '../launch/as-server.js';

await asServer(async () => {
  const [{ cluster, run }, { ControlModule }] = await Promise.all([import('#runtime'), import('./control.module.js')]);
  await run(ControlModule, cluster('control'));
});
