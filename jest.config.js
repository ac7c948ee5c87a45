/** Tests run on what tsc wrote, with no transformer in between. */
export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/dist'],
  testMatch: ['**/*.spec.js'],
  transform: {},
  moduleFileExtensions: ['js', 'json', 'node'],
  testTimeout: 30_000,
  reporters: ['default', '<rootDir>/dist/libs/testing/reporter.js'],
};
