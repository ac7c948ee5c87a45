/** Addresses of the servers that tests may use, by variable: given from outside, or set when this run starts them. */
export const serverVariables = { kafka: 'HEADWATER_TEST_KAFKA', registry: 'HEADWATER_TEST_REGISTRY' } as const;
