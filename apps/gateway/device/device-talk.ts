import { Logger } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { closeCodes, type Held, type LiveSocket } from '#edge';
import type { Headers } from '#log';
import { readFrame, seqInText, TelemetryError, type Accepted, type Caller, type DeviceFrame, type Presence } from '#model';
import { isMessage, reportsIn, statusAckText } from './command-messages.js';
import type { DeviceConnection, HandedOver } from './device-connections.js';
import type { DeviceLogin } from './device-login.js';
import type { DeviceServices } from './device-services.js';
import type { Paused } from './pauses.js';
import { ackText, lastWords, refusedFrame } from './replies.js';

const logger = new Logger('DeviceTalk');

/** What a frame that waits takes beside its bytes. */
const frameBytes = 256;
/** Nothing more is read while frames with so many bytes wait. */
const maxWaitingBytes = 512 * 1024;
/** Frames whose points are appended together. */
const maxTogether = 64;
/** Reports of commands that are on their way to the log. */
const maxReports = 64;
/** Nothing more is read while so much waits for the device to take it. */
const maxUnsentBytes = 64 * 1024;
/** No command is handed over on top of so much. */
const maxUnsentCommandBytes = 256 * 1024;
/** What any connection may hold for as long as it is open: more is counted with its organization. */
const freeBytes = 4096;
/** Over its rates a connection is not read for at most so long at a time, within which its pings are answered in time. */
export const maxSlowMs = 10_000;
/** A connection that cannot be read for so long for want of room, or because its device takes nothing, is closed. */
const maxPauseMs = 30_000;

/**
 * The talk with a device that was let in. Frames are answered in their order; the points of those that wait while others are on their way to the
 * log go there together.
 */
export class DeviceTalk implements DeviceConnection, Paused {
  readonly orgId: string;
  readonly sourceId: string;
  readonly connectionId = randomBytes(12).toString('base64url');
  readonly connectedMs: number;
  readonly #headers: Headers;
  readonly #held: Held;
  /** Settles when the log says that the source is online. */
  readonly #online: Promise<void>;
  #waiting: Buffer[] = [];
  /** Of frames that are not answered yet. */
  #waitingBytes = 0;
  /** Of the frame that has not come whole. */
  #comingBytes = 0;
  #reports = 0;
  #isWorking = true;
  #isFinishing = false;
  #hasEnded = false;
  #pausedMs: number | undefined;
  #slowUntilMs = 0;

  constructor(
    private readonly socket: LiveSocket,
    private readonly caller: Caller,
    private readonly login: DeviceLogin,
    requestId: string,
    private readonly services: DeviceServices,
  ) {
    this.orgId = caller.orgId;
    this.sourceId = login.sourceId;
    this.connectedMs = services.life.connectedMs();
    this.#headers = { request_id: requestId };
    this.#held = services.inFlight.hold(caller.orgId);
    this.#count(Math.max(0, login.runBytes - freeBytes));
    services.connections.begin(this);
    this.#online = services.presenceLog.add(this.#presence);
    void this.#begin();
  }

  handOver({ id, command, params, ttlMs }: HandedOver): boolean {
    const { socket } = this;
    if (!socket.isOpen || socket.unsentBytes > maxUnsentCommandBytes || this.#held.bodyRoom < 0) return false;
    const text = this.login.runs.has(command)
      ? JSON.stringify({ type: 'command_run', run_id: id, command, params, ttl_ms: ttlMs, attempt: 1 })
      : JSON.stringify({ type: 'typed_command', id, command, params });
    this.#count(text.length);
    socket.send(text, () => this.#count(-text.length));
    return true;
  }

  take(frame: Buffer): void {
    this.#count(frame.length + frameBytes - this.#comingBytes);
    this.#waitingBytes += frame.length + frameBytes;
    this.#comingBytes = 0;
    this.#waiting.push(frame);
    this.#work();
    this.#pauseOrRead();
  }

  coming(bytes: number): void {
    this.#count(bytes - this.#comingBytes);
    this.#comingBytes = bytes;
    this.#pauseOrRead();
  }

  finish(): void {
    this.#isFinishing = true;
    this.socket.pause();
    this.#closeWhenDone();
  }

  ended(): void {
    const { connections, presenceLog, pauses } = this.services;
    this.#hasEnded = true;
    connections.delete(this);
    presenceLog.remove(this.#presence);
    pauses.delete(this);
    this.#closeWhenDone();
  }

  fail(error: unknown): void {
    const words = lastWords(error);
    if (words) this.socket.send(words.text);
    else logger.error(error);
    this.socket.close(words?.code ?? closeCodes.internal);
  }

  /** See `Paused`. */
  readOn(): boolean {
    const nowMs = performance.now();
    if (this.#mustWait(nowMs)) {
      if (nowMs >= this.#slowUntilMs && nowMs - this.#pausedMs! > maxPauseMs)
        this.fail(new TelemetryError('overloaded', 'Connect again in a moment: there was no room for what this connection sent.'));
      return false;
    }
    this.#pausedMs = undefined;
    this.services.pauses.delete(this);
    if (!this.#isFinishing) this.socket.resume();
    return true;
  }

  get #presence(): Presence {
    const { orgId, sourceId, connectionId, connectedMs } = this;
    return { orgId, sourceId, connectionId, connectedMs, gatewayId: this.services.life.gatewayId };
  }

  async #begin(): Promise<void> {
    try {
      await this.#online;
      const { connections, life } = this.services;
      life.check();
      if (this.socket.isOpen) {
        connections.add(this);
        const authenticated = { type: 'authenticated', source_id: this.sourceId, server_time_ms: life.nowMs() };
        this.socket.send(JSON.stringify(this.login.acks ? { ...authenticated, acks: true } : authenticated));
      }
    } catch (error) {
      this.#lost(error);
    }
    this.#isWorking = false;
    this.#work();
  }

  #work(): void {
    if (this.#isWorking) return;
    this.#isWorking = true;
    // Frames that come later in this turn of the event loop are answered together with this one.
    queueMicrotask(() => void this.#answerAll());
  }

  async #answerAll(): Promise<void> {
    try {
      while (this.#waiting.length > 0 && this.socket.isOpen) {
        await this.#answer(this.#waiting.splice(0, maxTogether));
        if (this.#waiting.length > 0) await this.#turn();
      }
    } catch (error) {
      this.#lost(error);
    }
    this.#isWorking = false;
    this.#closeWhenDone();
  }

  /** Lets others go first: frames of which nothing goes to the log are answered without a pause otherwise. */
  #turn(): Promise<void> {
    return new Promise((resolve) => this.services.slices.add(this.orgId, resolve));
  }

  /** Answers frames, in their order, once what they hold is durable. */
  async #answer(frames: readonly Buffer[]): Promise<void> {
    const points: Accepted[] = [];
    const replies: (string | number)[] = [];
    for (const frame of frames) {
      let heard: DeviceFrame | undefined;
      try {
        const read = this.services.slices.finish(this.orgId, readFrame(frame));
        heard = read instanceof Promise ? await read : read;
        if (heard.type !== 'telemetry') this.#hear(heard, frame.length);
        else {
          points.push(await this.#telemetry(frame));
          if (heard.seq !== undefined) replies.push(heard.seq);
        }
      } catch (error) {
        const refused = refusedFrame(error, heard ? heard.seq : seqInText(frame));
        if (refused === undefined) throw error;
        replies.push(refused);
      }
    }
    await this.#append(points);
    this.#reply(replies);
    const bytes = frames.reduce((sum, { length }) => sum + length + frameBytes, 0);
    this.#waitingBytes -= bytes;
    this.#count(-bytes);
    this.#slowDown();
    this.#pauseOrRead();
  }

  #telemetry(frame: Buffer): Promise<Accepted> {
    const { organizations, rates, accept } = this.services;
    if (!organizations.hasPaymentMethod(this.orgId))
      throw new TelemetryError('payment_required', 'Put a payment method on file for the organization of this key.');
    rates.check(this.caller, maxSlowMs);
    return accept.read(this.caller, frame, this.sourceId);
  }

  #hear({ type, fields }: DeviceFrame, bytes: number): void {
    this.services.rates.charge(this.caller, 'bytes', bytes);
    if (type === 'heartbeat' || type === 'pong') return;
    if (!isMessage(type) || !fields)
      throw new TelemetryError('invalid_body', 'Send frames of type telemetry, heartbeat, command_result, command_status or command_sync.');
    // What devices say of commands goes to the log, as points do.
    this.services.rates.charge(this.caller, 'requests', 1);
    const { orgId, sourceId, connectionId } = this;
    for (const { ack, ...said } of reportsIn(type, fields)) {
      this.#reports++;
      this.services.reports
        .report({ orgId, sourceId, connectionId, ...said })
        .then(
          () => ack && this.socket.send(statusAckText(ack)),
          (error: unknown) => this.#lost(error),
        )
        .finally(() => {
          this.#reports--;
          this.#closeWhenDone();
        });
    }
  }

  async #append(all: readonly Accepted[]): Promise<void> {
    const count = all.reduce((sum, one) => sum + one.count, 0);
    if (count === 0) return;
    const [first] = all;
    const merged: Accepted =
      all.length === 1
        ? first!
        : {
            points: all.flatMap(({ points }) => points),
            events: all.flatMap(({ events }) => events),
            count,
            sourceId: this.sourceId,
          };
    await this.services.accept.append(this.orgId, merged, this.#headers);
  }

  /** Sends errors, and one acknowledgement for all frames between two of them. */
  #reply(replies: readonly (string | number)[]): void {
    let seq: number | undefined;
    const acknowledge = (): void => {
      if (seq !== undefined && this.login.acks) this.socket.send(ackText(seq));
      seq = undefined;
    };
    for (const reply of replies) {
      if (typeof reply === 'number') seq = Math.max(seq ?? 0, reply);
      else {
        acknowledge();
        this.socket.send(reply);
      }
    }
    acknowledge();
  }

  #lost(error: unknown): void {
    if (error instanceof TelemetryError && error.code === 'log_unavailable') this.services.life.noteFailure();
    this.fail(error);
  }

  /** Once nothing is under way any more: says goodbye where the server stops, and frees what an ended connection held. */
  #closeWhenDone(): void {
    const isDone = !this.#isWorking && this.#reports === 0;
    if (isDone && this.#isFinishing && (this.#waiting.length === 0 || !this.socket.isOpen)) this.socket.close(closeCodes.goingAway);
    if (isDone && this.#hasEnded) this.#held.release();
  }

  #count(bytes: number): void {
    this.#held.countBody(bytes);
  }

  #slowDown(): void {
    const waitMs = this.services.rates.check(this.caller, Infinity);
    if (waitMs > 0) this.#slowUntilMs = performance.now() + Math.min(waitMs, maxSlowMs);
  }

  #mustWait(nowMs: number): boolean {
    return (
      this.#waitingBytes > maxWaitingBytes ||
      this.#reports > maxReports ||
      this.#held.bodyRoom < 0 ||
      this.socket.unsentBytes > maxUnsentBytes ||
      nowMs < this.#slowUntilMs
    );
  }

  #pauseOrRead(): void {
    if (this.#pausedMs !== undefined) return void this.readOn();
    const nowMs = performance.now();
    if (!this.socket.isOpen || !this.#mustWait(nowMs)) return;
    this.#pausedMs = nowMs;
    this.socket.pause();
    this.services.pauses.add(this);
  }
}
