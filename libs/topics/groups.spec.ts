import { describe, expect, it } from '@jest/globals';
import { groups } from './groups.js';
import { topics } from './topics.js';

describe.each(groups)('the group $name', ({ name, inputs, outputs, kind, perGeneration, mayReplay }) => {
  it('is the only one of that name, which is not that of a generation', () => {
    expect(groups.filter((one) => one.name === name)).toHaveLength(1);
    expect(name).not.toMatch(/\.g\d+$/);
  });

  it('reads and writes topics that there are', () => {
    for (const topic of [...inputs, ...outputs]) expect(topics).toContain(topic);
  });

  it('reads topics with as many partitions, so that a key has one member', () => {
    expect(new Set(inputs.map(({ partitions }) => partitions)).size).toBe(1);
  });

  it('has the effects of its kind', () => {
    const isProjector = kind === 'projector';
    expect({ outputs: outputs.length > 0, perGeneration }).toEqual({ outputs: !isProjector, perGeneration: isProjector });
    expect(mayReplay || !isProjector).toBe(true);
  });
});
