import { WebSocketGateway, type OnGatewayConnection, type OnGatewayInit } from '@nestjs/websockets';
import type { FastifyRequest } from 'fastify';
import type { EventEmitter } from 'node:events';
import type { WebSocket } from 'ws';
import { maxBodyBytes } from '#edge';
import { DeviceEntrance } from './device-entrance.js';
import { DeviceServices } from './device-services.js';

/** The channel on which devices stay connected. */
@WebSocketGateway({ path: '/ws/device', maxPayload: maxBodyBytes })
export class DeviceGateway implements OnGatewayInit, OnGatewayConnection {
  constructor(private readonly services: DeviceServices) {}

  afterInit(server: EventEmitter): void {
    server.on('asked', () => this.services.life.check());
  }

  handleConnection(webSocket: WebSocket, request: FastifyRequest): void {
    this.services.sockets.open(webSocket, request, (socket) => new DeviceEntrance(socket, request.id, this.services));
  }
}
