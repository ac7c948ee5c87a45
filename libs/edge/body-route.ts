import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { DirectRequests } from './direct/direct-requests.js';
import type { DirectAccess, TakeBody } from './direct/direct-route.js';
import { sendProblem } from './problem.js';
import { jsonType, readBody } from './read-body.js';

declare module 'fastify' {
  interface FastifyInstance {
    readonly directRequests: DirectRequests;
  }
}

/**
 * Makes a POST route for most of the load, whose answer is 200 with JSON. `DirectRequests` answers plain requests before they reach the framework. Where the
 * framework gets a request, this function reads its body and answers it as soon as the request is let in, because what the framework does between
 * costs more than a small body. A request whose `Content-Type` is not exactly `application/json` goes through the whole framework.
 */
export function bodyRoute(server: FastifyInstance, url: string, access: DirectAccess, take: TakeBody): void {
  const answer = async (request: FastifyRequest, reply: FastifyReply, body: Buffer | undefined): Promise<void> => {
    const { caller, id, headers } = request;
    try {
      const answered = await take({ caller: caller!, id, traceparent: headers['traceparent'] as string | undefined }, body);
      void reply.type('application/json; charset=utf-8').send(JSON.stringify(answered));
    } catch (error) {
      sendProblem(reply, error);
    }
  };
  server.directRequests.add({ method: 'POST', pattern: url, access, answer: take });
  server.route({
    method: 'POST',
    url,
    config: { access },
    onRequest: (request, reply, done) => {
      if (request.headers['content-type'] !== jsonType) return done();
      readBody(
        request.raw,
        (bytes) => request.held?.addBody(bytes),
        (error, body) => (error ? sendProblem(reply, error) : void answer(request, reply, body)),
      );
    },
    handler: (request, reply) => void answer(request, reply, request.body as Buffer | undefined),
  });
}
