import type { Caller } from '#model';

/** Who sends a body, and with which request. */
export interface Sender {
  readonly caller: Caller;
  readonly id: string;
  readonly traceparent: string | undefined;
}

/** What a route does with a body; undefined when none was sent. Its answer is sent as JSON. */
export type TakeBody = (sender: Sender, body: Buffer | undefined) => Promise<object>;
