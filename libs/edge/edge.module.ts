import { Module, type DynamicModule } from '@nestjs/common';
import type { NameLimits } from '#model';
import { Accept } from './accept.js';
import { Admission } from './admission.js';
import { Answers } from './answers.js';
import { FailedKeys } from './failed-keys.js';
import { IN_FLIGHT_LIMITS, InFlight, type InFlightLimits } from './in-flight.js';
import { KeyUses } from './key-uses.js';
import { Keyring } from './keyring.js';
import { LiveSockets } from './live/live-sockets.js';
import { Metrics } from './metrics.js';
import { NAME_LIMITS, NameLimiter } from './name-limiter.js';
import { Organizations } from './organizations.js';
import { PublicUrl } from './people/public-url.js';
import { Rates } from './rates.js';
import { Readiness } from './readiness.js';
import { Slices } from './slices.js';
import { Traffic } from './traffic.js';

/** What every HTTP face shares. Needs RECORD_LOG, VIEWS and CLOCK from a global module. */
@Module({})
export class EdgeModule {
  static of(inFlight: InFlightLimits, names: NameLimits, publicUrl: string): DynamicModule {
    const doors = [Accept, Admission, Keyring, KeyUses, LiveSockets, Organizations, Rates];
    const shared = [...doors, Answers, InFlight, Metrics, Readiness, Slices, Traffic];
    return {
      module: EdgeModule,
      global: true,
      providers: [
        { provide: IN_FLIGHT_LIMITS, useValue: inFlight },
        { provide: NAME_LIMITS, useValue: names },
        { provide: PublicUrl, useValue: new PublicUrl(publicUrl) },
        FailedKeys,
        NameLimiter,
        ...shared,
      ],
      exports: [...shared, PublicUrl],
    };
  }
}
