import { describeOnKafka, groupsContract, keysContract, recordLogContract, runnerContract, viewsContract } from '#testing';
import { apiKeys, events, keyCommands, keyDecisions, sources } from '#topics';
import { openTestLog } from './open-test-log.js';

describeOnKafka('the log in Kafka', () => {
  recordLogContract(() => openTestLog(), 4);
});

describeOnKafka('its views', () => {
  viewsContract(() => openTestLog({ topics: [sources, apiKeys] }), 3);
});

describeOnKafka('its groups', () => {
  groupsContract(() => openTestLog({ topics: [sources, events, apiKeys] }));
});

describeOnKafka('a runner on it', () => {
  runnerContract(() => openTestLog({ topics: [sources, events] }), 3);
});

describeOnKafka('keys in it', () => {
  keysContract(() => openTestLog({ topics: [apiKeys, keyCommands, keyDecisions] }));
});
