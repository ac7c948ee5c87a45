import { asServer } from '#launch';

await asServer(async () => {
  const [{ embedded, run }, { EmbeddedModule }] = await Promise.all([import('#runtime'), import('./embedded.module.js')]);
  await run(EmbeddedModule, embedded);
});
