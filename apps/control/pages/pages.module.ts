import { Module } from '@nestjs/common';
import { ClaimsModule } from '../claims/claims.module.js';
import { PeopleApiModule } from '../people/people-api.module.js';
import { ServicesModule } from '../services.module.js';
import { AccountPages } from './account/account.controller.js';
import { ForgotPages } from './account/forgot.controller.js';
import { JoinPages } from './account/join.controller.js';
import { OpenIdPages } from './account/open-id.controller.js';
import { SignInPages } from './account/sign-in.controller.js';
import { AlertsPages } from './alerts/alerts.controller.js';
import { AssetsController } from './assets.controller.js';
import { BucketReader } from './chart/bucket-reader.js';
import { ClaimPages } from './claim/claim.controller.js';
import { AuditPages } from './audit/audit.controller.js';
import { CliPages } from './cli/cli.controller.js';
import { KeysPages } from './keys/keys.controller.js';
import { MonitorsPages } from './monitors/monitors.controller.js';
import { Trials } from './monitors/trials.js';
import { PeoplePages } from './people/people.controller.js';
import { SourceLister } from './sources/source-list.js';
import { SourceReader } from './sources/source-reader.js';
import { SourcesPages } from './sources/sources.controller.js';
import { TargetsPages } from './targets/targets.controller.js';

/** What people see in a browser. */
@Module({
  imports: [ClaimsModule, PeopleApiModule, ServicesModule],
  controllers: [
    AssetsController,
    SignInPages,
    OpenIdPages,
    ForgotPages,
    JoinPages,
    AccountPages,
    ClaimPages,
    CliPages,
    SourcesPages,
    AlertsPages,
    MonitorsPages,
    TargetsPages,
    AuditPages,
    KeysPages,
    PeoplePages,
  ],
  providers: [SourceLister, SourceReader, BucketReader, Trials],
})
export class PagesModule {}
