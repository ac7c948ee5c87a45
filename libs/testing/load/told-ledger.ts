import { entry, type Entry } from '#log';
import { alertTargets } from '#topics';
import { Random } from '../random.js';
import { Receiver, type ReceivedRequest } from '../receiver.js';

const secret = `whsec_${Buffer.alloc(24, 1).toString('base64')}`;

/** What waits for a target is read again at each start: with many of them a server that is killed all the time does little else. */
const targetCount = 3;

/** Targets of alerts that refuse every fifth request, and what they have taken: the ledger of what was told. */
export class ToldLedger {
  readonly #taken: ReceivedRequest[] = [];

  private constructor(private readonly receiver: Receiver) {}

  static async open(seed: number): Promise<ToldLedger> {
    const receiver = await Receiver.open();
    const ledger = new ToldLedger(receiver);
    const random = new Random(seed);
    receiver.behaviour = (request, response) => {
      const isTaken = random.whole(0, 4) > 0;
      if (isTaken) ledger.#taken.push(request);
      response.writeHead(isTaken ? 200 : 503).end();
    };
    return ledger;
  }

  targets(orgId: string): readonly Entry[] {
    const signed = { kind: 'webhook', secret, formerSecret: null } as const;
    const about = { ...signed, orgId, name: '', minSeverity: 'info', createdMs: 1, changedMs: 1, paused: null } as const;
    return this.#ids.map((targetId) => entry(alertTargets, { ...about, targetId, to: `${this.receiver.url}/${targetId}` }));
  }

  /**
   * The names of the transitions that each target was told, each once, in order; and how many requests came again.
   *
   * @throws Error when a transition was told under two ids, or an id with two bodies.
   */
  told(): { readonly names: ReadonlyMap<string, readonly string[]>; readonly again: number } {
    const bodies = new Map<string, string>();
    const names = new Map<string, string[]>(this.#ids.map((targetId) => [targetId, []]));
    const ids = new Map<string, string>();
    for (const { path, headers, body } of this.#taken) {
      const id = String(headers['webhook-id']);
      if ((bodies.get(id) ?? body) !== body) throw new Error(`${id} was sent with two bodies`);
      if (bodies.has(id)) continue;
      bodies.set(id, body);
      const target = path.slice(1);
      for (const name of namesIn(body)) {
        const before = ids.get(`${target} ${name}`);
        if (before !== undefined) throw new Error(`${target} was told ${name} in ${before} and in ${id}`);
        ids.set(`${target} ${name}`, id);
        names.get(target)!.push(name);
      }
    }
    for (const list of names.values()) list.sort();
    return { names, again: this.#taken.length - bodies.size };
  }

  close(): Promise<void> {
    return this.receiver.close();
  }

  get #ids(): readonly string[] {
    return Array.from({ length: targetCount }, (_, at) => `target_${at}`);
  }
}

function namesIn(body: string): readonly string[] {
  const json = JSON.parse(body) as Record<string, unknown>;
  if (json['type'] !== 'alerts.summary')
    return [`${String(json['alert_id'])} ${json['resolved_at_ms'] === null ? 'triggered' : 'resolved'}`];
  return (['triggered', 'resolved'] as const).flatMap((what) => (json[`${what}_ids`] as readonly string[]).map((id) => `${id} ${what}`));
}
