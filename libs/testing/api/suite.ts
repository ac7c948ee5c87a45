import { afterAll, beforeAll } from '@jest/globals';
import { alerts } from './alerts.js';
import { alertTargets } from './alert-targets.js';
import { authentication } from './authentication.js';
import { boundKeys } from './bound-keys.js';
import { claims } from './claims.js';
import { commands } from './commands.js';
import { deletions } from './deletions.js';
import { deviceChannel } from './device-channel.js';
import { devicesAlias } from './devices-alias.js';
import { errors } from './errors.js';
import { health } from './health.js';
import { identifiers } from './identifiers.js';
import { ingest } from './ingest.js';
import { members } from './members.js';
import { liveDocument } from './live-document.js';
import { logs } from './logs.js';
import { monitors } from './monitors.js';
import { historicalQuery } from './query.js';
import { rowCaps } from './row-cap.js';
import { sources } from './sources.js';
import { Stage, type Target } from './stage.js';
import { streams } from './streams.js';
import { tags } from './tags.js';
import { tenancy } from './tenancy.js';
import { timestamps } from './timestamps.js';
import { transport } from './transport.js';
import { windows } from './windows.js';

/** The wire contract, asked over HTTP and nothing else: whatever has the address, it must answer alike. */
export function apiSuite(open: () => Promise<Target>): void {
  let target: Target;
  let stage: Stage;
  beforeAll(async () => {
    target = await open();
    stage = await Stage.on(target);
  }, 300_000);

  // The slow bodies of `transport` are under way while the rows of the others run.
  const sections = [
    health,
    authentication,
    errors,
    ingest,
    identifiers,
    timestamps,
    windows,
    historicalQuery,
    rowCaps,
    tags,
    logs,
    commands,
    sources,
    deletions,
    deviceChannel,
    devicesAlias,
    streams,
    liveDocument,
    tenancy,
    boundKeys,
    monitors,
    alerts,
    claims,
    members,
    alertTargets,
    transport,
  ];
  for (const section of sections) section(() => stage);
  afterAll(() => target.close());
}
