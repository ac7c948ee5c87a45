import { Global, Module } from '@nestjs/common';
import { Commands } from '../commands.js';
import { Accounts } from './accounts.js';
import { OrganizationChanges } from './organization-changes.js';
import { Passwords } from './passwords.js';
import { People } from './people.js';
import { Sessions } from './sessions.js';
import { SignIn } from './sign-in.js';
import { SignInLimits } from './sign-in-limits.js';
import { Visitors } from './visitors.js';

const services = [Accounts, OrganizationChanges, Passwords, People, Sessions, SignIn, Visitors];

/** For a role that people come to with a browser: its routes may take a session in place of a key. */
@Global()
@Module({ providers: [...services, Commands, SignInLimits], exports: services })
export class PeopleModule {}
