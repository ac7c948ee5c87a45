import type { Deployment } from '../deployment.js';
import { ApiClient } from '../http/client.js';
import { eventually } from '../eventually.js';
import { Random } from '../random.js';
import { history, type History } from './history.js';
import { verifyFleet, verifySource, verifySources } from './verify.js';
import { World, type SentBody } from './world.js';

/** Several histories told at once, so that one crash hits them all. One seed and one time repeat it exactly. */
export interface Chapter {
  readonly seed: number;
  readonly nowMs: number;
  readonly histories: number;
  /** How many there are by chance, beside a crash in the middle and a restart after it. */
  readonly interruptions: number;
}

type How = 'in turn' | 'at once' | 'crash after' | 'restart after' | 'crash during';
/** The roles of a cluster may take so long to be there again. */
const crashMs = 150_000;
const quiet: readonly How[] = ['in turn', 'at once'];
const breaking: readonly How[] = ['crash after', 'restart after', 'crash during', 'crash during'];

/** Tells a chapter to a deployment and asks for everything in the middle, at the end, and after the projections were made again. */
export async function tell(chapter: Chapter, deployment: Deployment): Promise<void> {
  await new Teller(chapter, deployment).tell();
}

class Teller {
  readonly #random: Random;
  readonly #prefix: string;
  readonly #clients: readonly [ApiClient, ApiClient];
  readonly #worlds: readonly [World, World];
  readonly #histories: readonly History[];
  readonly #interruptions: number;

  constructor(
    { seed, nowMs, histories, interruptions }: Chapter,
    private readonly deployment: Deployment,
  ) {
    this.#worlds = [new World(), new World()];
    this.#random = new Random(seed);
    this.#prefix = `x${seed}-${nowMs.toString(36)}`;
    this.#clients = [
      new ApiClient(() => deployment.urls, deployment.keys.own),
      new ApiClient(() => deployment.urls, deployment.keys.other),
    ];
    this.#histories = Array.from({ length: histories }, (_, at) => history(seed + at, this.#prefix, nowMs));
    this.#interruptions = interruptions;
  }

  async tell(): Promise<void> {
    const rounds = Math.max(...this.#histories.map(({ bodies }) => bodies.length));
    for (let round = 0; round < rounds; round++) await this.#round(round, this.#how(round, rounds));
    await this.deployment.settle();
    await this.#verify(this.#histories);
    await this.deployment.rebuild();
    await this.deployment.settle();
    await this.#verify(this.#histories);
  }

  /** At least four rounds are there, so that the last one comes after the middle. */
  #how(round: number, rounds: number): How {
    if (round === Math.floor(rounds / 2)) return 'crash during';
    if (round === rounds - 1) return 'restart after';
    return this.#random.pick(this.#random.chance(this.#interruptions / rounds) ? breaking : quiet);
  }

  /** The next body of every history: mostly one after the other, sometimes at once, sometimes with a crash among them. */
  async #round(round: number, how: How): Promise<void> {
    const turns = this.#random.shuffled(this.#histories).flatMap(({ bodies }) => bodies.slice(round, round + 1));
    const send = (turn: History['bodies'][number]): Promise<void> => this.#send(turn.org, turn.body, turn.gzip);
    if (how === 'at once') await Promise.all(turns.map(send));
    else if (how === 'crash during') await Promise.all([...turns.map(send), this.deployment.crash()]);
    else for (const turn of turns) await send(turn);

    if (how === 'crash after') await this.deployment.crash();
    if (how === 'restart after') await this.deployment.restart();
    if (breaking.includes(how) && this.#random.chance(0.5)) {
      await this.deployment.settle();
      await this.#verify([this.#random.pick(this.#histories)]);
    }
  }

  /** As a client does: the same body again until it is accepted. */
  async #send(org: 0 | 1, body: SentBody, gzip: boolean): Promise<void> {
    const client = this.#clients[org];
    await eventually(async () => {
      const answer = await (gzip ? client.ingestGzip(body) : client.ingest(body));
      if (answer.status !== 200) throw new Error(`POST /ingest answered ${answer.status}: ${answer.text}`);
    }, crashMs);
    this.#worlds[org].accept(body);
  }

  async #verify(histories: readonly History[]): Promise<void> {
    for (const org of [0, 1] as const) {
      const [client, world] = [this.#clients[org], this.#worlds[org]];
      for (const { seed, sources, metrics } of histories) {
        for (const id of sources) {
          const source = world.sources.get(id);
          if (source) await verifySource(client, id, source, this.#random);
        }
        await verifyFleet(client, this.#random.pick(metrics), world, new Random(seed));
      }
      await verifySources(client, this.#prefix, world);
    }
  }
}
