import { Module } from '@nestjs/common';
import { Commands, KeyCommands } from '#edge';
import { ClaimsController } from './claims.controller.js';
import { Claims } from './claims.js';
import { WrongCodes } from './wrong-codes.js';

/** Keys that a person approves, as JSON; pages use `Claims` too, so that both count wrong codes together. */
@Module({ controllers: [ClaimsController], providers: [Commands, KeyCommands, Claims, WrongCodes], exports: [Claims, KeyCommands] })
export class ClaimsModule {}
