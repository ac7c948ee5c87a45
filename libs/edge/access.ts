import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyRequest } from 'fastify';
import type { Caller, Permission, Person } from '#model';

/** Who may call a route. Unmarked: any valid key of an organization that has paid; pages of any origin may call. */
export interface Access {
  readonly key?: false;
  readonly payment?: false;
  readonly scope?: 'write' | 'admin';
  /** The route changes something: where its organization has scopes enforced, a key needs `write` for it in place of `read`. */
  readonly changes?: true;
  /** What the caller does there. Somebody who has signed in may come without a key, where the role is not too small. */
  readonly may?: Permission;
  /** The route is for somebody who has signed in, whatever the organization, and takes no key. */
  readonly person?: true;
  /** The route answers without a look at the body, whatever it is. */
  readonly body?: false;
  /** The answer is a stream without an end, which has limits of its own: it is no read that is open. */
  readonly stream?: true;
  /** Only our own pages may use it: no CORS headers, and requests from other origins get 403. */
  readonly cors?: false;
  /** The route answers pages for people, and is no part of the API. */
  readonly page?: true;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access;
  }
  interface FastifyRequest {
    /** Set before the handler of every route that needs a key. */
    caller: Caller | undefined;
    /** Set before the handler of every route that is for somebody who has signed in. */
    person: Person | undefined;
  }
}

type Mark = ClassDecorator & MethodDecorator;

const marks = new WeakMap<object, Access>();

/** Marks one handler, or all handlers of a controller; a handler's own mark beats its controller's. */
export function Access(access: Access): Mark {
  return (target: object, _key?: string | symbol, descriptor?: PropertyDescriptor) => {
    if (descriptor) return markHandler(descriptor.value as object, access, {});
    const { prototype } = target as { prototype: object };
    for (const { value } of Object.values(Object.getOwnPropertyDescriptors(prototype))) {
      if (typeof value === 'function' && value !== target) markHandler(value as object, {}, access);
    }
  };
}

function markHandler(handler: object, over: Access, under: Access): void {
  const access = { ...under, ...marks.get(handler), ...over };
  marks.set(handler, access);
  RouteConfig({ access })(handler as new () => unknown);
}

/** What the request holds in memory, in a handler of a route that needs a key. */
export const HeldParam = createParamDecorator(
  (_: unknown, context: ExecutionContext) => context.switchToHttp().getRequest<FastifyRequest>().held,
);

/** Who has signed in, in a handler of a route that is for somebody who has. */
export const PersonParam = createParamDecorator(
  (_: unknown, context: ExecutionContext) => context.switchToHttp().getRequest<FastifyRequest>().person,
);

/** Who calls, in a handler of a route that needs a key, or a key or a session. */
export const CallerParam = createParamDecorator(
  (_: unknown, context: ExecutionContext) => context.switchToHttp().getRequest<FastifyRequest>().caller,
);
