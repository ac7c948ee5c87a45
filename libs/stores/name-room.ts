export const NAME_ROOM = Symbol('NameRoom');

/** Room for the names that a store keeps in memory for as long as it has them. Names that the store has may always come; where it is full, no others. */
export interface NameRoom {
  /** For this organization. */
  isFull(orgId: string): boolean;
  hasSource(orgId: string, sourceId: string): boolean;
  /** Whether the source ever reported this metric. */
  hasSeries(orgId: string, sourceId: string, metric: string): boolean;
}
