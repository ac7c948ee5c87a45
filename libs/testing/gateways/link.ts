import type { DeviceTalk } from '../../../apps/gateway/device/device-talk.js';
import type { Random } from '../random.js';
import type { Machine, SimulatedTime } from './machines.js';

export const orgId = 'o';
export const sources = ['a', 'b'];

/** A frame that a device gets. */
export interface Given {
  readonly type: string;
  readonly id: string;
  readonly command: string;
}

/** Where connections are, and who keeps count of what comes over them. */
export interface Net {
  readonly time: SimulatedTime;
  readonly random: Random;
  gave(link: Link, given: Given): void;
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
    private readonly net: Net,
    /** Where its gateway runs. */
    readonly machine: Machine,
    readonly sourceId: string,
  ) {}

  get isOpen(): boolean {
    return this.readyState === this.OPEN && !this.machine.isDead;
  }

  send(text: string, _: object, left?: () => void): void {
    left?.();
    const frame = JSON.parse(text) as Given;
    if (frame.type === 'authenticated') this.isIn = true;
    if (frame.type === 'typed_command') this.net.gave(this, frame);
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
    this.net.time.later(this.net.random.whole(0, 50), this.machine, () => {
      this.readyState = 3;
      this.talk?.ended();
    });
  }

  pause(): void {}

  resume(): void {}

  setTimeout(): void {}
}
