import { Module } from '@nestjs/common';

/** Connections: until it has any, each of its paths is answered as one that no route has. */
@Module({})
export class GatewayModule {}
