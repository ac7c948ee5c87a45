import { expect, it } from '@jest/globals';
import { flawOfKeyCommand, keyDecider, maxKeys, type KeyCommand, type KeyState } from './key-decider.js';
import type { ApiKey } from './organization.js';

const { initial } = keyDecider;
const aKey = (keyId: string): ApiKey => ({
  keyId,
  orgId: 'o',
  name: 'n',
  sha256: 'a'.repeat(64),
  prefix: 'hw_',
  suffix: 'x',
  scopes: ['write'],
  createdMs: 0,
  sources: ['*'],
  createdBy: '',
});
const asked = { orgId: 'o', id: 'c', askedMs: 0, by: { id: '', name: '' } };
const making = (keyId: string, does: 'create' | 'create_first' = 'create'): KeyCommand => ({ ...asked, keyId, does, key: aKey(keyId) });
const first = (keyId: string): KeyCommand => making(keyId, 'create_first');
const deleting = (keyId: string): KeyCommand => ({ ...asked, keyId, does: 'delete', key: null });

it.each([
  ['a first key is made where there is none', [first('a'), first('b')], ['created', 'has_keys'], ['a']],
  // Its sender has not heard of the first one.
  ['the same first key is made again under a new command', [first('a'), first('a')], ['created', 'created'], ['a']],
  ['a first key is made where the last one has ended', [first('a'), deleting('a'), first('b')], ['created', 'deleted', 'created'], ['b']],
  ['any other key is made beside those that there are', [making('a'), making('b')], ['created', 'created'], ['a', 'b']],
  ['a key ends once', [making('a'), deleting('a'), deleting('a')], ['created', 'deleted', 'unknown_key'], []],
] as const)('%s', (_, commands, outcomes, keys) => {
  let state = initial;
  const found = commands.flatMap((command) => {
    const events = keyDecider.decide(state, command, 1);
    state = events.reduce((before, event) => keyDecider.evolve(before, event), state);
    return events.map(({ outcome }) => outcome);
  });
  expect([found, Array.from(state.keys.values(), ({ keyId }) => keyId)]).toEqual([outcomes, keys]);
});

it('an organization has at most 10,000 keys: one that is deleted makes room for another', () => {
  const keys = new Map(Array.from({ length: maxKeys }, (_, at) => [`k${at}`, aKey(`k${at}`)]));
  let state: KeyState = { keys };
  const outcomes = [making('a'), deleting('k7'), making('a'), making('a'), making('b')].map((command) => {
    const [event] = keyDecider.decide(state, command, 1);
    state = keyDecider.evolve(state, event!);
    return event!.outcome;
  });
  expect(outcomes).toEqual(['has_keys', 'deleted', 'created', 'created', 'has_keys']);
  expect([keys.size, state.keys.size, state.keys.get('k7'), state.keys.get('a')?.keyId]).toEqual([maxKeys, maxKeys, undefined, 'a']);
});

it.each([
  ['a key to delete', { ...deleting('k'), key: aKey('k') }],
  ['a key for some sources that manages keys', { ...making('k'), key: { ...aKey('k'), scopes: ['admin'], sources: ['a*'] } }],
  ['no key to make', { ...making('k'), key: null }],
  ['a key of another name', { ...making('k'), key: aKey('l') }],
  ['a key of another organization', { ...making('k'), orgId: 'p' }],
])('a command that holds %s has a flaw', (_, command) => {
  expect(flawOfKeyCommand(command as KeyCommand)).toMatch(/^a command holds|^a key for some sources/);
  expect([making, deleting].map((make) => flawOfKeyCommand(make('k')))).toEqual([undefined, undefined]);
});
