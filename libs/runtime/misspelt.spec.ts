import { expect, it } from '@jest/globals';
import { misspelt } from './misspelt.js';
import { settings } from './settings.js';

it.each<[string, string | undefined]>([
  ['HEADWATER_PROT', 'HEADWATER_PORT'],
  ['HEADWATER_TRUSTED_PROXY', 'HEADWATER_TRUSTED_PROXIES'],
  ['HEADWATER_KEEP_POINT', 'HEADWATER_KEEP_POINTS'],
  ['HEADWATER_KAFKA_PASWORD_FILE', 'HEADWATER_KAFKA_PASSWORD_FILE'],
  ['HEADWATER_URL', undefined],
  ['HEADWATER_API_KEY', undefined],
  ['HEADWATER_CACHE', undefined],
  ['HEADWATER_PORT_8080_TCP', undefined],
  ['HEADWATER_SERVICE_HOST', undefined],
  ['HEADWATER_', undefined],
  ['OTHER_PROT', undefined],
])('%s: %s is meant', (name, meant) => {
  expect(misspelt({ [name]: '1' })).toEqual(meant ? [`${name} is no setting, and has no effect: is ${meant} meant?`] : []);
});

it('no setting is misspelt', () => {
  expect(misspelt(Object.fromEntries(Object.values(settings).map(({ variable }) => [variable, '1'])))).toEqual([]);
});
