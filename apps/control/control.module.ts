import { Module } from '@nestjs/common';
import { KeyCommands } from '#edge';
import { AuthController } from './auth.controller.js';
import { DocsController } from './docs.controller.js';
import { KeysController } from './keys.controller.js';

/** The app host: keys, and what there is to read about the API. */
@Module({ controllers: [KeysController, AuthController, DocsController], providers: [KeyCommands] })
export class ControlModule {}
