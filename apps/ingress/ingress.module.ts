import { Module } from '@nestjs/common';
import { IngestRoute } from './ingest.route.js';

/** HTTP in, topics out. */
@Module({ providers: [IngestRoute] })
export class IngressModule {}
