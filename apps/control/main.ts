import { asServer } from '#launch';

await asServer(async () => {
  const [{ cluster, run }, { ControlModule }] = await Promise.all([import('#runtime'), import('./control.module.js')]);
  await run(ControlModule, cluster('control'));
});
