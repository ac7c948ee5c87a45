import { Global, Module } from '@nestjs/common';
import { Accounts } from './accounts.js';
import { Sessions } from './sessions.js';
import { Visitors } from './visitors.js';

const services = [Accounts, Sessions, Visitors];

/** For a role that a browser comes to: its routes may take the session of a person in place of a key. */
@Global()
@Module({ providers: services, exports: services })
export class VisitorsModule {}
