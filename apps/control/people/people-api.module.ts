import { Module } from '@nestjs/common';
import { PeopleModule } from '#edge';
import { AccountController } from './account.controller.js';
import { AuditBook } from './audit-book.js';
import { AuditController } from './audit.controller.js';
import { ForgottenPasswords } from './forgotten-passwords.js';
import { OrganizationsController } from './organizations.controller.js';
import { PeopleController } from './people.controller.js';
import { SignInController } from './sign-in.controller.js';

/** What programs and scripts ask about people and organizations. */
@Module({
  imports: [PeopleModule],
  controllers: [SignInController, AccountController, PeopleController, OrganizationsController, AuditController],
  providers: [AuditBook, ForgottenPasswords],
  exports: [AuditBook, ForgottenPasswords],
})
export class PeopleApiModule {}
