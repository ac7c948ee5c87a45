import { asServer } from '../launch/as-server.js';

await asServer(async () => {
  const [{ embedded, run }, { EmbeddedModule }] = await Promise.all([import('#runtime'), import('./embedded.module.js')]);
  await run(EmbeddedModule, embedded);
});
