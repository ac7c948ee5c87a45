import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { entry, inTime, logIsLate, RECORD_LOG, VIEWS, type RecordLog, type View, type Views } from '#log';
import { maxCommandMs, TelemetryError, TokenBucket, type Asked, type Outcome, type Outcomes, type Told } from '#model';
import { outcomes, outcomesKey } from '#topics';
import type { Area } from './areas/index.js';
import { CLOCK, type Clock } from './clock.js';

/** What a caller says of a command; the rest is added here. */
export type Asking<Command> = Command extends unknown ? Omit<Command, 'id' | 'askedMs'> : never;

/**
 * How many things of one area, such as monitors, an organization may change in a second through this process; ten times as many may come at
 * once. So no 5 seconds bring more than `maxDecided` commands: those beyond it are never decided, and their callers would hear so only after
 * 5 seconds.
 */
const maxPerS = 60;

/** Has commands carried out: appends them to the log, and waits until the one process that decides (`deciderOf`) has done so. */
@Injectable()
export class Commands {
  readonly #outcomes: View<Outcomes>;
  /** By organization and area. */
  readonly #rates = new Map<string, TokenBucket>();

  constructor(
    @Inject(VIEWS) private readonly views: Views,
    @Inject(RECORD_LOG) private readonly log: RecordLog,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {
    this.#outcomes = views.open(outcomes);
  }

  /**
   * What became of a command, once the views of this process show what it has changed. Where that takes longer than 5 seconds: rejects
   * `log_unavailable`. A command that is not decided by then never is, so that the caller may ask again; one that was decided may have had
   * its effect. An organization that changes too much at once is told so at once: rejects `over_rate`.
   */
  async carryOut<Command extends Asked, Word extends string>(
    area: Pick<Area<unknown, Command, never, Word>, 'name' | 'topic' | 'topics' | 'outcomeOf'>,
    asking: Asking<Command>,
  ): Promise<Outcome<Word>> {
    const endMs = performance.now() + maxCommandMs;
    const command = { ...asking, id: randomUUID(), askedMs: this.clock() } as unknown as Command;
    const toldOf = (all: Outcomes | undefined): Told | undefined => all?.told.find(({ id }) => id === command.id);
    const key = outcomesKey({ area: area.name, orgId: command.orgId });
    this.#admit(key);
    // Listens before it asks, for the next outcome takes the place of this one; the 5 seconds include the append, which may take long itself.
    const [shown] = await Promise.all([
      this.#outcomes.until(key, (all) => toldOf(all) !== undefined, maxCommandMs),
      this.log.append([entry(area.topic, command)]),
    ]);
    const { outcome, about } = toldOf(shown)!;
    const seen = Promise.all(area.topics.map((topic) => this.views.open(topic).caughtUp()));
    await inTime(seen, endMs - performance.now(), logIsLate('The log has not shown the change in time.'));
    return { word: outcome as Word, about };
  }

  #admit(key: string): void {
    const nowMs = performance.now();
    let rate = this.#rates.get(key);
    if (!rate) this.#rates.set(key, (rate = new TokenBucket(maxPerS, nowMs)));
    const waitMs = rate.waitMs(nowMs);
    if (waitMs > 0) {
      const detail = `An organization may change ${maxPerS} things a second: send this again in a second.`;
      throw new TelemetryError('over_rate', detail, { retryAfterS: Math.ceil(waitMs / 1000) });
    }
    rate.take(1);
  }
}
