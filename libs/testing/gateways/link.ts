import type { DeviceTalk } from '../../../apps/gateway/device/device-talk.js';
import type { GatewayMachine } from './gateway-machine.js';
import type { World } from './world.js';

export const orgId = 'o';
export const sources = ['a', 'b'];

/** A frame that a device gets. */
export interface Given {
  readonly type: string;
  readonly id: string;
  readonly command: string;
}

/** One connection of a device: its own end, and what the gateway takes for a WebSocket. */
export class Link {
  readonly OPEN = 1;
  readyState = 1;
  readonly bufferedAmount = 0;
  /** The gateway has said that the device is let in. */
  isIn = false;
  /** When that began, by the time of the simulation. */
  beganMs = 0;
  /** When it was given each command that it has not answered, by the id of the command. */
  readonly unanswered = new Map<string, number>();
  talk: DeviceTalk | undefined;

  constructor(
    private readonly world: World,
    readonly gateway: GatewayMachine,
    readonly sourceId: string,
  ) {}

  get isOpen(): boolean {
    return this.readyState === this.OPEN && !this.gateway.machine.isDead;
  }

  send(text: string): void {
    const frame = JSON.parse(text) as Given;
    if (frame.type === 'authenticated') this.isIn = true;
    if (frame.type === 'typed_command') this.world.gave(this, frame);
  }

  close(): void {
    this.end();
  }

  terminate(): void {
    this.end();
  }

  /** The gateway hears of the end a little later. */
  end(): void {
    if (this.readyState !== this.OPEN) return;
    this.readyState = 2;
    this.world.time.later(this.world.random.whole(0, 50), this.gateway.machine, () => {
      this.readyState = 3;
      this.talk?.ended();
    });
  }

  pause(): void {}

  resume(): void {}
}
