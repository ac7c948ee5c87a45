import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from '@jest/globals';
import { eventSql } from './event-reader.js';
import { createEventTables } from './event-writer.js';

/** How SQLite goes through the table of events, and what it sorts, for a question. */
function plan(sql: string): string[] {
  using db = new DatabaseSync(':memory:');
  createEventTables(db);
  const steps = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as unknown as { detail: string }[];
  return steps.map(({ detail }) => detail).filter((detail) => / event (USING|$)|SCAN event|ORDER BY/.test(detail));
}

const chosenRows = ['SEARCH event USING INTEGER PRIMARY KEY (rowid=?)', 'USE TEMP B-TREE FOR ORDER BY'];

describe.each(['ASC', 'DESC'] as const)('however many events one millisecond holds, %s', (direction) => {
  it.each([
    [
      'all',
      ['USE TEMP B-TREE FOR LAST 2 TERMS OF ORDER BY', 'SEARCH event USING COVERING INDEX event_order (source=? AND time>? AND time<?)'],
    ],
    ['namedAt', ['SEARCH event USING COVERING INDEX event_order (source=? AND time=?)']],
  ] as const)('%s reads no row but those it answers with', (question, steps) => {
    const found = plan(eventSql(direction)[question]);
    for (const step of [...steps, ...chosenRows]) expect(found).toContain(step);
    expect(found.filter((step) => !/COVERING INDEX event_order|rowid=\?|ORDER BY/.test(step))).toEqual([]);
  });

  it('timeAfter counts within the index', () => {
    expect(plan(eventSql(direction).timeAfter)).toEqual([
      'SEARCH event USING COVERING INDEX event_identity (source=? AND metric=? AND time>? AND time<?)',
    ]);
  });
});
