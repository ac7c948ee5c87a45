import { Global, Module } from '@nestjs/common';
import { Commands } from '../commands.js';
import { Readiness } from '../readiness.js';
import { OrganizationChanges } from './organization-changes.js';
import { DeletedOrganizations } from './deleted-organizations.js';
import { Leftovers } from './leftovers.js';
import { Passwords } from './passwords.js';
import { People } from './people.js';
import { SignIn } from './sign-in.js';
import { SignInLimits } from './sign-in-limits.js';
import { VisitorsModule } from './visitors.module.js';

const services = [DeletedOrganizations, Leftovers, OrganizationChanges, Passwords, People, SignIn];

/** For the role in which people sign in, and organizations change. */
@Global()
@Module({ imports: [VisitorsModule], providers: [...services, Commands, SignInLimits], exports: [...services, VisitorsModule] })
export class PeopleModule {
  constructor(people: People, readiness: Readiness) {
    readiness.need(people.ready);
  }
}
