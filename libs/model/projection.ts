/** Which generation of a projection readers use, and which one is being made beside it. */
export interface Projection {
  readonly projection: string;
  readonly live: number;
  readonly building: number | null;
  /** The highest generation that there ever was, or 0: a number is used once. */
  readonly highest: number;
}
