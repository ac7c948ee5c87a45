import { entry, ofGeneration, withoutGeneration, type Group, type RecordLog, type View } from '#log';
import { TelemetryError, type Projection } from '#model';
import type { Generation, Generations, GenerationStore, Stores } from '#stores';
import { groupsPerGeneration, projections } from '#topics';

/** The name of the projection that points, rollups and events are together. */
export const telemetry = 'telemetry';

/** The generations that `projections.v1` names. */
export class LiveGenerations implements Generations {
  /** QuestDB answers them on threads of its own, some of which others need too. */
  readonly readsAtOnce = 8;

  constructor(
    private readonly view: View<Projection>,
    private readonly stores: Pick<GenerationStore, 'open' | 'whyNotWritten'>,
  ) {}

  get ready(): Promise<void> {
    return this.view.ready;
  }

  get current(): Projection | undefined {
    return this.view.get(telemetry);
  }

  live(): Stores {
    const { current } = this;
    if (current) return this.stores.open(current.live);
    throw new TelemetryError('store_unavailable', 'There is no generation of the projections yet.');
  }

  wanted(): readonly Generation[] {
    const { live, building = null } = this.current ?? { live: null };
    const numbers = [live, building].filter((number) => number !== null);
    return numbers.map((number) => {
      const { series, events } = this.stores.open(number);
      return { suffix: suffixOf(number), series, events };
    });
  }

  whyNotWritten(): string | undefined {
    return this.stores.whyNotWritten();
  }

  /** Nothing is to be noted here: whoever deploys has brought all roles to a version that obeys it. */
  beforeDeletion(): void {}

  changes(listener: () => void): () => void {
    return this.view.changes(() => listener());
  }

  /** Why nothing can be read; undefined when something can. */
  whyNot(): string | undefined {
    return this.current ? undefined : 'There are no projections yet: run `headwater init --data-plane`.';
  }
}

/** What the names of a generation's consumer groups end with. */
export const suffixOf = (generation: number): string => `.g${generation}`;

/** The consumer groups of a generation, in the order of `groupsPerGeneration`. */
export const groupsOf = (generation: number): readonly Group[] =>
  groupsPerGeneration.map((group) => ofGeneration(group, suffixOf(generation)));

/** The generation that a consumer group belongs to, by its name; undefined for any other group. */
export function generationOf(group: string): number | undefined {
  const name = withoutGeneration(group);
  return group !== name && groupsPerGeneration.some((one) => one.name === name)
    ? Number(group.slice(name.length + '.g'.length))
    : undefined;
}

/** Resolves once every role is going to see it. */
export function moveGenerations(log: RecordLog, next: Omit<Projection, 'projection'>): Promise<void> {
  return log.append([entry(projections, { projection: telemetry, ...next })]);
}
