// Written by `npm run roles` from the table of roles.
import { Module } from '@nestjs/common';
import { IngressModule } from '../ingress/ingress.module.js';
import { ProcessorsModule } from '../processors/processors.module.js';
import { GatewayModule } from '../gateway/gateway.module.js';
import { QueryModule } from '../query/query.module.js';
import { ControlModule } from '../control/control.module.js';

/** All roles in one process. */
@Module({ imports: [IngressModule, ProcessorsModule, GatewayModule, QueryModule, ControlModule] })
export class EmbeddedModule {}
