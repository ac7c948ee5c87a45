import { closeCodes, type LiveSocket, type Talk } from '#edge';
import { mayUse, TelemetryError } from '#model';
import { readLogin } from './device-login.js';
import type { DeviceServices } from './device-services.js';
import { DeviceTalk, maxSlowMs } from './device-talk.js';
import { lastWords, loginRefusal, refusalText } from './replies.js';

/** The talk on a socket of a device: the first frame lets it in, the others are for whoever was let in. */
export class DeviceEntrance implements Talk {
  #talk: DeviceTalk | undefined;

  constructor(
    private readonly socket: LiveSocket,
    private readonly requestId: string,
    private readonly services: DeviceServices,
  ) {}

  take(frame: Buffer): void {
    if (this.#talk) this.#talk.take(frame);
    else this.#letIn(frame);
  }

  coming(bytes: number): void {
    this.#talk?.coming(bytes);
  }

  late(): void {
    this.#refuse(refusalText(loginRefusal));
  }

  revoked(): void {
    this.#refuse(refusalText('Connect again with another API key: this one was deleted, or its rights have changed.'));
  }

  finish(): void {
    if (this.#talk) this.#talk.finish();
    else this.socket.close(closeCodes.goingAway);
  }

  ended(): void {
    this.#talk?.ended();
  }

  #letIn(frame: Buffer): void {
    try {
      const login = readLogin(frame);
      if (!login) throw new TelemetryError('invalid_key', loginRefusal);
      const { sockets, admission, connections, life, rates } = this.services;
      const caller = admission.admit({ apiKey: login.apiKey, place: 'device_auth' }, this.socket.address, { scope: 'write' });
      if (!mayUse(caller, login.sourceId)) throw new TelemetryError('foreign_source', `Connect with a key for ${login.sourceId}.`);
      life.check();
      rates.check(caller, maxSlowMs);
      connections.checkRoom({ orgId: caller.orgId, sourceId: login.sourceId });
      sockets.admit(this.socket, caller);
      // That it has come, and later that it has gone, is written to the log.
      rates.charge(caller, 'requests', 1);
      this.#talk = new DeviceTalk(this.socket, caller, login, this.requestId, this.services);
    } catch (error) {
      const words = lastWords(error);
      if (!words) throw error;
      this.#refuse(words.text, words.code);
    }
  }

  #refuse(text: string, code: NonNullable<ReturnType<typeof lastWords>>['code'] = closeCodes.policy): void {
    this.socket.send(text);
    this.socket.close(code);
  }
}
