import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { TelemetryError, type Caller } from '#model';
import type { Access } from './access.js';
import { FailedKeys } from './failed-keys.js';
import { Keyring } from './keyring.js';

/** Lets a request in by its `x-api-key` header, before its body is read: 401, then 402, then 403. */
@Injectable()
export class ApiKeyGuard {
  constructor(
    private readonly keyring: Keyring,
    private readonly failedKeys: FailedKeys,
  ) {}

  /** @throws TelemetryError with the reason why not. */
  admit(request: FastifyRequest, access: Access): Caller {
    const caller = this.#caller(request);
    if (access.payment !== false && !this.keyring.hasPaymentMethod(caller.orgId)) {
      throw new TelemetryError('payment_required', 'Put a payment method on file for the organization of this key.');
    }
    if (access.scope && !caller.scopes.includes(access.scope)) {
      throw new TelemetryError('missing_scope', `Use a key with the scope ${access.scope}.`);
    }
    return caller;
  }

  #caller(request: FastifyRequest): Caller {
    const key = request.headers['x-api-key'] as string | undefined;
    const caller = key === undefined ? undefined : this.keyring.verify(key);
    if (caller) return caller;
    if (key) this.failedKeys.add(request.ip, key);
    throw new TelemetryError('invalid_key', 'Send a valid API key in the x-api-key header.');
  }
}
