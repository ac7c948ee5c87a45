import { Module } from '@nestjs/common';
import { ControlModule } from '../control/control.module.js';
import { IngressModule } from '../ingress/ingress.module.js';
import { ProcessorsModule } from '../processors/processors.module.js';
import { QueryModule } from '../query/query.module.js';

/** All roles in one process. */
@Module({ imports: [IngressModule, ProcessorsModule, QueryModule, ControlModule] })
export class EmbeddedModule {}
