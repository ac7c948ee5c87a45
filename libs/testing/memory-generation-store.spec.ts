import { describe } from '@jest/globals';
import { generationStoreContract } from './generation-store.contract.js';
import { MemoryDatabase, MemoryGenerationStore } from './memory-generation-store.js';

describe('A generation store in memory', () => {
  generationStoreContract(() => {
    const database = new MemoryDatabase();
    const published = (): string[] => Array.from(database.of(database.published!).points.values(), ({ row: [, , source] }) => source ?? '');
    return {
      store: new MemoryGenerationStore(database),
      firstNumber: 10,
      another: () => new MemoryGenerationStore(database),
      published: () => Promise.resolve(published()),
    };
  });
});
