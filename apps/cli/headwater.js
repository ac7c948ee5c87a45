#!/usr/bin/env node
// What npm links as `headwater`. It is there before anything is built: npx links a file once, and never again when it was missing.
try {
  await import('../../dist/bundled/cli.js');
} catch (error) {
  if (error.code !== 'ERR_MODULE_NOT_FOUND' || !error.message.includes('dist/bundled/cli.js')) throw error;
  console.error('headwater: it is not built yet: run `npm run build` in its folder.');
  process.exitCode = 1;
}
