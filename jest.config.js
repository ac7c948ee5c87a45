/** Tests run on what tsc wrote, with no transformer in between. */
export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/dist'],
  testMatch: ['**/*.spec.js'],
  // It takes minutes: `npm run test:faults` has it.
  testPathIgnorePatterns: process.env.FAULTS === 'long' ? [] : ['/backup\\.faults\\.spec'],
  transform: {},
  moduleFileExtensions: ['js', 'json', 'node'],
  testTimeout: 150_000,
  // Half of what the suites do is to wait for servers.
  maxWorkers: 2,
  testSequencer: '<rootDir>/dist/libs/testing/run/longest-first.js',
  globalSetup: '<rootDir>/dist/libs/testing/run/open-run.js',
  globalTeardown: '<rootDir>/dist/libs/testing/run/close-run.js',
  reporters: ['default', '<rootDir>/dist/libs/testing/reporter.js'],
};
