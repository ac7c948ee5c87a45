import type { z } from 'zod';
import type { ErrorCode } from '#model';
import type { Access } from './access.js';

/** One answer of an operation that is not an error. */
export interface Answer {
  readonly description: string;
  /** Absent when the answer has no body. */
  readonly schema?: z.ZodType;
  /** `application/json` unless said otherwise. */
  readonly mediaType?: string;
  /** Headers by name, with what they say. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** What the OpenAPI document says of one route and method. The schemas of parameters and bodies are those that check them. */
export interface Operation {
  /** Unique over the whole API. */
  readonly id: string;
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete' | 'options';
  /** With parameters in braces, for example `/v1/sources/{source_id}`. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly deprecated?: true;
  /** As the route is marked. */
  readonly access: Access;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  /** A JSON body. */
  readonly body?: z.ZodType;
  /** By status. */
  readonly answers: Readonly<Record<number, Answer>>;
  /** Codes beyond those that follow from `access` and `body`, and beyond those that any request may get. */
  readonly errors?: readonly ErrorCode[];
}
