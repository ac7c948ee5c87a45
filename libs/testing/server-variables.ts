/** Where tests are told of the servers that they may use, by the variable that tells a role: given from outside, or set when a run starts them. */
export const serverVariables = {
  HEADWATER_KAFKA_BROKERS: 'HEADWATER_TEST_KAFKA',
  HEADWATER_REGISTRY_URL: 'HEADWATER_TEST_REGISTRY',
  HEADWATER_QUESTDB_URL: 'HEADWATER_TEST_QUESTDB_URL',
  HEADWATER_QUESTDB_PG: 'HEADWATER_TEST_QUESTDB_PG',
} as const;

/** Set where suites that need servers must run. */
export const needServers = 'HEADWATER_NEED_SERVERS';

/** Set when this run can start servers from jars, for suites that need some of their own. */
export const jars = 'HEADWATER_TEST_JARS';
