import { describe, expect, it } from '@jest/globals';
import type { Provider, Type } from '@nestjs/common';
import { readFileSync } from 'node:fs';
import { createHttpApp } from '#edge';
import { CHECKPOINT_MS, type Topic, type View } from '#log';
import * as stores from '#stores';
import { MemoryLog, MemoryModule } from '#testing';
import { groups } from '#topics';
import { roles, roleTable, type Role } from './roles.js';

/** Remembers which topics are looked at. */
class ViewedLog extends MemoryLog {
  readonly viewed = new Set<string>();

  override open<V>(topic: Topic<V>): View<V> {
    this.viewed.add(topic.name);
    return super.open(topic);
  }
}

/** The names of the topics that a role looks at once its parts are made. Rejects when one of them asks for a port that is not there. */
async function viewsOf(role: Role, withStores: boolean): Promise<readonly string[]> {
  const log = new ViewedLog();
  const { default: _, ...parts } = (await import(`../../apps/${role}/${role}.module.js`)) as Record<string, Type>;
  const tokens = withStores ? Object.values(stores).filter((one) => typeof one === 'symbol') : [];
  const providers: Provider[] = [...tokens, CHECKPOINT_MS].map((provide) => ({ provide, useValue: {} }));
  const ports = { module: class Ports {}, global: true, providers, exports: [...tokens, CHECKPOINT_MS] };
  await createHttpApp({ module: class Role {}, imports: [MemoryModule.of(log), ports, ...Object.values(parts)] });
  return [...log.viewed].toSorted();
}

describe('the table of roles', () => {
  it.each(roles)('says what %s opens', async (role) => {
    const { views, stores: opensStores } = roleTable[role];
    expect(await viewsOf(role, opensStores)).toEqual(views.map(({ name }) => name).toSorted());
  });

  it.each(roles.filter((role) => roleTable[role].stores))('has stores opened for %s only because it asks for them', async (role) => {
    await expect(viewsOf(role, false)).rejects.toThrow(/can't resolve dependencies/);
  });

  it('has the role of every consumer group', () => {
    expect(groups.filter(({ role }) => !roles.includes(role as Role))).toEqual([]);
  });

  it('is what the README says', () => {
    const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8');
    const row = (role: Role): string => {
      const { paths, stores: opensStores } = roleTable[role];
      return `| \`apps/${role}\` | ${paths.map((path) => `\`${path}\``).join(', ')} | Kafka${opensStores ? ', QuestDB' : ''} |`;
    };
    expect(readme.match(/^\| `apps\/\w+` \|.*\|.*\|$/gm)).toEqual(roles.map(row));
  });
});
