import { Agent } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { RawData } from 'ws';
import { closeAll, device, openAll, post, stream } from './live-client.js';
import { work } from './processes.js';
import type { Target } from './server-process.js';
import { sourceName } from './shapes.js';

/** Sends commands at a fixed rate to devices that answer at once, one device after the other, and watches for what they answered. */
export interface CommandOrder {
  /** Where the devices are. */
  readonly target: Target;
  /** Where commands are sent. */
  readonly sender: Target;
  readonly devices: number;
  readonly commands: number;
  readonly perSecond: number;
}

export interface CommandTimes {
  /** From sending each command until it is answered that its device has it, milliseconds. */
  readonly answers: readonly number[];
  /** Until the device's own answer is durable, and comes on the stream of its events. */
  readonly outcomes: readonly number[];
}

interface Handed {
  readonly id: string;
  readonly command: string;
  readonly params: { readonly number: number };
}

interface OutcomeEvent {
  readonly value: { readonly result: { readonly number: number } };
}

await work(async ({ target, sender, devices, commands, perSecond }: CommandOrder) => {
  const agent = new Agent({ keepAlive: true });
  const sentMs: number[] = [];
  const answers: number[] = [];
  const outcomes: number[] = [];
  const sockets = await openAll(devices, (at) => device(target, sourceName(at)));
  for (const socket of sockets) {
    socket.on('message', (data: RawData) => {
      const { id, command, params: result } = JSON.parse((data as Buffer).toString()) as Handed;
      socket.send(JSON.stringify({ type: 'command_result', id, command, event: 'result', result }));
    });
  }
  const watchers = await openAll(devices, (at) => stream(target, sourceName(at), 'logs'));
  for (const socket of watchers) {
    socket.on('message', (data: RawData) => {
      const nowMs = performance.now();
      const { number } = (JSON.parse((data as Buffer).toString()) as OutcomeEvent).value.result;
      outcomes.push(nowMs - sentMs[number]!);
    });
  }
  const command = async (number: number): Promise<void> => {
    sentMs[number] = performance.now();
    const body = JSON.stringify({ command: 'bench', params: { number } });
    const answer = await post(sender, agent, `/v1/sources/${sourceName(number % devices)}/commands`, body);
    answers.push(performance.now() - sentMs[number]);
    if (!(answer as { queued: boolean }).queued) throw new Error('a command was not handed over: the run is void');
  };
  // The streams begin with whatever comes once they are open.
  await pause(1_000);

  return async (): Promise<CommandTimes> => {
    const begunMs = performance.now();
    const sent: Promise<void>[] = [];
    for (let number = 0; number < commands; number++) {
      const dueMs = begunMs + (1_000 * number) / perSecond - performance.now();
      if (dueMs > 0) await pause(dueMs);
      sent.push(command(number));
    }
    await Promise.all(sent);
    for (let looks = 0; outcomes.length < commands && looks < 100; looks++) await pause(100);
    if (outcomes.length !== commands) throw new Error(`${commands} commands were sent, ${outcomes.length} outcomes came: the run is void`);
    await closeAll([...sockets, ...watchers]);
    agent.destroy();
    return { answers, outcomes };
  };
});
