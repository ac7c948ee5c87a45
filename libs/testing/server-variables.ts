/** Addresses of the servers that tests may use, by variable: given from outside, or set when this run starts them. */
export const serverVariables = {
  kafka: 'HEADWATER_TEST_KAFKA',
  registry: 'HEADWATER_TEST_REGISTRY',
  questDbUrl: 'HEADWATER_TEST_QUESTDB_URL',
  questDbPg: 'HEADWATER_TEST_QUESTDB_PG',
} as const;

/** Set where suites that need servers must run. */
export const needServers = 'HEADWATER_NEED_SERVERS';

/** Set when this run can start servers from jars, for suites that need some of their own. */
export const jars = 'HEADWATER_TEST_JARS';
