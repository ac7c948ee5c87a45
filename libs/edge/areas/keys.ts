import { entry, Grouped, tombstone } from '#log';
import { keyDecider, type KeyCommand, type KeyEvent, type KeyOutcome, type KeyState } from '#model';
import { apiKeys, keyCommands, keyUses } from '#topics';
import type { Area } from './area.js';

/**
 * Which keys an organization has stands in `api-keys.v1` and nowhere else, so a log whose keys were appended without commands, or whose
 * unreadable keys were removed, needs no care.
 */
export const keysArea: Area<KeyState, KeyCommand, KeyEvent, KeyOutcome> = {
  name: 'keys',
  topic: keyCommands,
  topics: [apiKeys],
  decider: keyDecider,

  stateIn(views) {
    const keys = new Grouped(views.open(apiKeys), (key) => key.orgId);
    return (orgId) => ({ keys: keys.mapOf(orgId) });
  },

  outcomeOf: ({ outcome: word, keyId: about }) => ({ word, about }),

  effectsOf({ outcome, keyId, key }) {
    if (outcome === 'created') return [entry(apiKeys, key!)];
    return outcome === 'deleted' ? [tombstone(apiKeys, keyId), tombstone(keyUses, keyId)] : [];
  },

  auditOf({ outcome, keyId, key }) {
    if (!key) return [];
    const { name, prefix, suffix, scopes } = key;
    return [{ did: `key.${outcome}`, about: keyId, text: `${name} (${prefix}…${suffix}; ${scopes.join(', ')})` }];
  },
};
