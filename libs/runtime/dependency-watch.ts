import { gauge, type Dependency, type Metric } from '#model';
import type { Logger } from './logger.js';

const lookMs = 1_000;
const againMs = 60_000;

interface Outage {
  readonly sinceMs: number;
  toldMs: number;
}

/** Logs when a dependency goes away, once a minute while it is away, and when it is back. */
export class DependencyWatch {
  readonly #outages = new Map<Dependency, Outage>();
  readonly #timer: NodeJS.Timeout;

  /** @param clock monotonic, milliseconds. */
  constructor(
    private readonly dependencies: readonly Dependency[],
    private readonly logger: Logger,
    private readonly clock = (): number => performance.now(),
  ) {
    this.#timer = setInterval(() => this.look(), lookMs).unref();
  }

  get metric(): Metric {
    return gauge('headwater_dependency_up', 'Whether each thing that this process needs can be used: 1 or 0.', () =>
      this.dependencies.map(({ id, health }) => ({ labels: { dependency: id }, value: health() === undefined ? 1 : 0 })),
    );
  }

  look(): void {
    for (const one of this.dependencies) this.#lookAt(one, one.health());
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #lookAt(one: Dependency, reason: string | undefined): void {
    const nowMs = this.clock();
    const known = this.#outages.get(one);
    if (!known && reason === undefined) return;
    const outage = known ?? { sinceMs: nowMs, toldMs: -Infinity };
    const fields = { dependency: one.id, seconds: Math.round((nowMs - outage.sinceMs) / 1000) };
    if (reason === undefined) {
      this.#outages.delete(one);
      this.logger.info(fields, `${one.name} works again after ${fields.seconds} s`);
    } else if (nowMs - outage.toldMs >= againMs) {
      outage.toldMs = nowMs;
      this.#outages.set(one, outage);
      const lasting = known ? ` (for ${fields.seconds} s now)` : '';
      this.logger[one.isSpare ? 'warn' : 'error'](fields, `${reason}${lasting}`);
    }
  }
}
