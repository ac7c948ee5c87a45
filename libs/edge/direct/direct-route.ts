import type { Caller } from '#model';
import type { Access } from '../access.js';
import type { Held } from '../in-flight.js';

/** What a route may ask of its caller where it is answered directly: only what an API key shows. */
export type DirectAccess = Pick<Access, 'payment' | 'scope'>;

/** Who sends a body, and with which request. */
export interface Sender {
  readonly caller: Caller;
  readonly id: string;
  readonly traceparent: string | undefined;
}

/** What a route does with a body; undefined when none was sent. Its answer is sent as JSON. */
export type TakeBody = (sender: Sender, body: Buffer | undefined) => Promise<object>;

/** A question to a route, and what it holds in memory. */
export interface Question extends Sender {
  readonly held: Held;
  /** The path and the query string. */
  readonly url: string;
  /** What the path has in place of the route's parameter. */
  readonly parameter: string;
}

/** A route whose plain requests are answered before they reach `node:http` and the framework. The framework needs the same route for all other requests. */
export interface DirectRoute {
  readonly method: 'GET' | 'POST';
  /** The path, with one parameter behind a colon at most. */
  readonly pattern: string;
  readonly access: DirectAccess;
  /** The answer, sent with status 200: JSON that is made already, whole as a `Buffer` or in pieces as a `StreamableFile`, or an object to make it from. */
  readonly answer: (question: Question, body: Buffer) => Promise<object>;
}
