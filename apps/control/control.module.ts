import { Module } from '@nestjs/common';
import { AuthController } from './auth.controller.js';
import { ClaimsModule } from './claims/claims.module.js';
import { DocsController } from './docs.controller.js';
import { KeysController } from './keys.controller.js';
import { AlertsController } from './alerts/alerts.controller.js';
import { MonitorsController } from './monitors/monitors.controller.js';
import { PagesModule } from './pages/pages.module.js';
import { PeopleApiModule } from './people/people-api.module.js';
import { ServicesModule } from './services.module.js';
import { TargetsController } from './targets/targets.controller.js';

/** The app host: keys and how they are claimed, people, monitors, targets of alerts, pages, and what there is to read about the API. */
@Module({
  imports: [ClaimsModule, PeopleApiModule, ServicesModule, PagesModule],
  controllers: [KeysController, MonitorsController, AlertsController, TargetsController, AuthController, DocsController],
})
export class ControlModule {}
