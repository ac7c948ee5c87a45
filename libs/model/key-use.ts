/** When a key was last used, and from where. */
export interface KeyUse {
  readonly keyId: string;
  /** Unix milliseconds; the use was within the minute from then on. */
  readonly usedMs: number;
  /** As the connection or a trusted proxy tells it; empty where nobody knows. */
  readonly address: string;
}
