import { onOwnNode } from '#launch';

await onOwnNode(async () => {
  const [{ embedded, run }, { EmbeddedModule }] = await Promise.all([import('#runtime'), import('./embedded.module.js')]);
  await run(EmbeddedModule, embedded);
});
