import { Module } from '@nestjs/common';
import { IngestController } from './ingest.controller.js';

/** HTTP in, topics out. */
@Module({ controllers: [IngestController] })
export class IngressModule {}
