/** Which generation of a projection readers use, and which one is being made beside it. */
export interface Projection {
  readonly projection: string;
  readonly live: number;
  readonly building: number | null;
}
