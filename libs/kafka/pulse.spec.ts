import { afterEach, expect, it } from '@jest/globals';
import { until } from '#testing';
import { Pulse } from './pulse.js';

let pulse: Pulse;
afterEach(() => pulse.stop());

const start = (ask: () => Promise<unknown>): void => void (pulse = new Pulse({ name: 'Kafka', ask, beatMs: 40, patienceMs: 30 }));

it('says nothing of a server that answers, however seldom it is asked', async () => {
  const said: (string | undefined)[] = [];
  start(async () => void said.push(pulse?.health()));
  await until('it was asked some times', () => said.length > 3);
  expect(new Set(said)).toEqual(new Set([undefined]));
});

it('says so of a server that refuses to answer, until it answers', async () => {
  let isBroken = true;
  start(async () => {
    if (isBroken) throw new Error('away');
  });
  await until('it is told', () => pulse.health() !== undefined);
  expect(pulse.health()).toBe('Kafka has not been heard for 0 s: away');
  isBroken = false;
  await until('it is well', () => pulse.health() === undefined);
});

it('says so of a server that is silent', async () => {
  start(() => new Promise(() => undefined));
  await until('it is told', () => pulse.health() !== undefined);
  expect(pulse.health()).toBe('Kafka has not been heard for 0 s: no answer');
});
