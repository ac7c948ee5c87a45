import { describe, expect, it } from '@jest/globals';
import { checkJson } from '#edge';
import type { MonitorDefinition } from '#model';
import { newMonitor } from '../../monitors/definition.js';
import { bodyOf, filledWith, formOf } from './monitor-form.js';

const place = { source_id: 'press-7', metric: 'm' };
const bodyFrom = (fields: Readonly<Record<string, string>>) => bodyOf(formOf(new URLSearchParams({ ...place, ...fields })));

describe('the form of a monitor', () => {
  it.each<[string, Readonly<Record<string, string>>, object]>([
    ['nothing', {}, { threshold: null, offline: null }],
    ['a maximum', { max: ' 7.5 ' }, { threshold: { max: 7.5, min: null, clear: null }, offline: null }],
    ['zero, which is a number', { min: '0' }, { threshold: { min: 0 } }],
    ['a clear band', { max: '9', clear_max: '8', min: '1', clear_min: '2' }, { threshold: { clear: { max: 8, min: 2 } } }],
    ['a message without bounds', { message: 'hot' }, { threshold: { max: null, message: 'hot' } }],
    [
      'silence',
      { timeout_seconds: '60', offline_severity: 'critical' },
      { threshold: null, offline: { timeout_seconds: 60, severity: 'critical' } },
    ],
    ['no metric', { metric: '' }, { metric: null }],
    ['blanks around the source', { source_id: ' press-7 ' }, { source_id: 'press-7' }],
  ])('with %s is the body that an API client would send', (_, fields, body) => {
    expect(bodyFrom(fields)).toMatchObject(body);
  });

  it.each(['x', '1,5', 'Infinity', '1e999'])('refuses %s as a number, and names the field', (max) => {
    expect(() => bodyFrom({ max })).toThrow('Fill in a number, or nothing: Fires above (max).');
  });

  const about = { severity: 'info', message: 'Look' } as const;
  const threshold = { min: -1, max: 1e6, clearMin: 0, clearMax: 9.5, forMs: 90_000, ...about };
  it.each<MonitorDefinition>([
    { name: 'n', sourceId: '*', metric: 'm', threshold, offline: { timeoutMs: 60_000, ...about } },
    {
      name: '',
      sourceId: 's',
      metric: 'm',
      threshold: { ...threshold, min: null, clearMin: null, clearMax: null, forMs: 0 },
      offline: null,
    },
    { name: '', sourceId: 's', metric: null, threshold: null, offline: { timeoutMs: 10_000, ...about } },
  ])('as it is filled in for a definition defines the same again: $name', (definition) => {
    expect(checkJson(newMonitor, bodyOf(filledWith(definition)))).toEqual(definition);
  });
});
