import type { Config, Running, StartOptions } from '#runtime';

/** The embedded server in this process, on free ports of loopback. After `stop` or `crash` another may start on the same folder. */
export async function startEmbedded({ dataDir, ...rest }: Pick<Config, 'dataDir'> & Partial<Config> & StartOptions): Promise<Running> {
  const [{ createLogger, embedded, readConfig, start }, { EmbeddedModule }] = await Promise.all([
    import('#runtime'),
    import('../../apps/embedded/embedded.module.js'),
  ]);
  const config: Config = { ...readConfig({}), port: 0, adminPort: 0, logLevel: 'silent', alertNetworks: ['127.0.0.1'], ...rest, dataDir };
  return start(EmbeddedModule, embedded, config, await createLogger(config.logLevel), rest);
}
