/** Suites that take minutes: `npm run test:faults` has them, and the last lines of other runs name them. `FAULTS=short` has them, but shorter. */
const long = ['backup', 'broker', 'brokers', 'losses', 'partitions', 'sockets'].map((name) => `${name}.faults`);
const leftOut = process.env.FAULTS ? [] : long;

/** Tests run on what tsc wrote, with no transformer in between. */
export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/dist'],
  testMatch: ['**/*.spec.js'],
  testPathIgnorePatterns: leftOut.map((name) => `/${name}\\.spec`),
  transform: {},
  moduleFileExtensions: ['js', 'json', 'node'],
  testTimeout: 150_000,
  // Half of what the suites do is to wait for servers.
  maxWorkers: 2,
  testSequencer: '<rootDir>/dist/libs/testing/run/longest-first.js',
  globalSetup: '<rootDir>/dist/libs/testing/run/open-run.js',
  globalTeardown: '<rootDir>/dist/libs/testing/run/close-run.js',
  reporters: ['default', ['<rootDir>/dist/libs/testing/reporter.js', { leftOut }]],
};
