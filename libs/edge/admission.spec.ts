import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, Get, Module } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { TelemetryError, type ErrorCode } from '#model';
import { accesses, admissionContract, MemoryModule } from '#testing';
import { Access } from './access.js';
import { Admission } from './admission.js';
import { FailedKeys } from './failed-keys.js';
import { createHttpApp } from './http-app.js';
import { KeyUses } from './key-uses.js';
import { Keyring } from './keyring.js';
import { Organizations } from './organizations.js';
import { Readiness } from './readiness.js';

const never = new Promise<never>(() => {});

describe('Admission', () => {
  admissionContract(async (log, clock) => {
    const readiness = new Readiness();
    const uses = new KeyUses(log, log, clock);
    const admission = new Admission(new Keyring(log), new Organizations(log, log, clock), new FailedKeys(clock), readiness, uses);
    const enter = async (apiKey: string | undefined, access: keyof typeof accesses, address: string): Promise<'in' | ErrorCode> => {
      try {
        admission.admit({ apiKey, place: 'a test' }, address, accesses[access]);
        return 'in';
      } catch (error) {
        return (error as TelemetryError).code;
      }
    };
    return {
      enter: (apiKey, access = 'any', address = '127.0.0.1') => enter(apiKey, access, address),
      shut: () => readiness.need(never),
    };
  });
});

it('an address that failed with many keys is forgotten once 10,000 others have failed since', () => {
  const failedKeys = new FailedKeys(() => 0);
  const fail = (address: string): void => {
    for (let at = 0; at < 21; at++) failedKeys.add(address, `hw_guess${at}`);
  };
  expect(() => fail('192.0.2.1')).toThrow(expect.objectContaining({ code: 'too_many_failed_keys', retryAfterS: 60 }));
  for (let at = 0; at < 9_999; at++) failedKeys.add(`10.0.${at >> 8}.${at & 255}`, 'hw_guess');
  expect(() => failedKeys.add('192.0.2.1', 'hw_guess20')).toThrow('Send a valid key');
  failedKeys.add('10.1.0.0', 'hw_guess');
  failedKeys.add('192.0.2.1', 'hw_guess20');
});

@Controller()
class Doors {
  @Get('any')
  any(): void {}

  @Get('write')
  @Access({ scope: 'write' })
  write(): void {}

  @Get('admin')
  @Access({ scope: 'admin' })
  admin(): void {}

  @Get('changes')
  @Access({ changes: true })
  changes(): void {}

  @Get('unpaid')
  @Access({ payment: false })
  unpaid(): void {}

  @Get('unpaidAdmin')
  @Access({ scope: 'admin', payment: false })
  unpaidAdmin(): void {}
}

@Module({ controllers: [Doors] })
class Role {}

describe('the header of a request', () => {
  let app: NestFastifyApplication;
  afterEach(() => app.close());

  admissionContract(async (log, clock) => {
    app = await createHttpApp({ module: class Root {}, imports: [MemoryModule.of(log, clock), Role] });
    await app.init();
    const server = app.getHttpAdapter().getInstance();
    await server.ready();
    return {
      enter: async (apiKey, access = 'any', remoteAddress = '127.0.0.1') => {
        const headers = apiKey === undefined ? {} : { 'x-api-key': apiKey };
        const answer = await server.inject({ url: `/${access}`, headers, remoteAddress });
        return answer.statusCode === 200 ? 'in' : answer.json<{ code: ErrorCode }>().code;
      },
      shut: () => app.get(Readiness).need(never),
    };
  });
});
