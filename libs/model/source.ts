/** When something was first and last received, by the server's clock; Unix milliseconds. */
export interface Heard {
  readonly firstReceivedMs: number;
  readonly lastReceivedMs: number;
}

/** The two topics that a source is heard in. They have no common order, so that a deletion ends what was heard in its own one. */
export type Half = 'points' | 'events';
type Halves = Readonly<Record<Half, Heard | null>>;

/** When a source was first and last heard. */
export interface Source extends Heard {
  readonly orgId: string;
  readonly sourceId: string;
  /** Where that was: mostly in one half. Null in records of earlier versions, which do not tell, so that each half may have all of it. */
  readonly heardIn?: Half | Readonly<Record<Half, Heard>> | null;
}

/** The source once a record of a half was received; `known` itself where that says nothing new. */
export function afterHearing(
  known: Source | undefined,
  half: Half,
  { orgId, sourceId, receivedMs }: Pick<Source, 'orgId' | 'sourceId'> & { readonly receivedMs: number },
): Source {
  const its = known && halvesOf(known);
  const heard = its?.[half];
  if (known && heard && heard.firstReceivedMs <= receivedMs && receivedMs <= heard.lastReceivedMs) return known;
  const firstReceivedMs = Math.min(receivedMs, heard?.firstReceivedMs ?? Infinity);
  const lastReceivedMs = Math.max(receivedMs, heard?.lastReceivedMs ?? -Infinity);
  return sourceOf({ orgId, sourceId }, { points: null, events: null, ...its, [half]: { firstReceivedMs, lastReceivedMs } })!;
}

/** The source once a half of it is deleted; null when nothing is left. */
export function afterDeletion(known: Source, half: Half): Source | null {
  return sourceOf(known, { ...halvesOf(known), [half]: null });
}

function halvesOf(source: Source): Halves {
  const { heardIn } = source;
  if (typeof heardIn === 'object' && heardIn !== null) return heardIn;
  return { points: heardIn === 'events' ? null : source, events: heardIn === 'points' ? null : source };
}

function sourceOf({ orgId, sourceId }: Pick<Source, 'orgId' | 'sourceId'>, { points, events }: Halves): Source | null {
  const only = points ?? events;
  if (!only) return null;
  if (!points || !events) return { orgId, sourceId, ...timesOf(only), heardIn: points ? 'points' : 'events' };
  const firstReceivedMs = Math.min(points.firstReceivedMs, events.firstReceivedMs);
  const lastReceivedMs = Math.max(points.lastReceivedMs, events.lastReceivedMs);
  return { orgId, sourceId, firstReceivedMs, lastReceivedMs, heardIn: { points: timesOf(points), events: timesOf(events) } };
}

const timesOf = ({ firstReceivedMs, lastReceivedMs }: Heard): Heard => ({ firstReceivedMs, lastReceivedMs });

/** An open device connection. */
export interface Presence {
  readonly orgId: string;
  readonly sourceId: string;
  readonly connectionId: string;
  readonly gatewayId: string;
  readonly connectedMs: number;
}

/** A gateway process that says it lives. */
export interface Gateway {
  readonly gatewayId: string;
  readonly beatMs: number;
}
