/** When a source was first and last heard, by the server's clock; Unix milliseconds. */
export interface Source {
  readonly orgId: string;
  readonly sourceId: string;
  readonly firstReceivedMs: number;
  readonly lastReceivedMs: number;
}

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
