import { expect, it } from '@jest/globals';
import {
  claimsContract,
  decisionsContract,
  deliveriesContract,
  describeOnKafka,
  groupsContract,
  keysContract,
  monitorsContract,
  recordLogContract,
  runnerContract,
  until,
  viewsContract,
} from '#testing';
import {
  alertNotes,
  alertTargets,
  apiKeys,
  decisions,
  decisionsGroup,
  deliveries,
  deliveriesGroup,
  events,
  gateways,
  keyDecisions,
  keysGroup,
  monitors,
  monitorsGroup,
  monitorStates,
  noticedSources,
  noticesGroup,
  presence,
  sessions,
  sessionUses,
  sources,
} from '#topics';
import { Asker } from './asker.js';
import { openTestLog, testOptions } from './open-test-log.js';

/** Of what people change, and of keys. */
const decided = [...decisionsGroup.inputs, ...decisionsGroup.outputs, decisions];
const keyTopics = [...keysGroup.inputs, ...keysGroup.outputs, keyDecisions];

describeOnKafka('the log in Kafka', () => {
  recordLogContract(() => openTestLog(), 4);
});

describeOnKafka('the history of a topic', () => {
  it('has another name once the topic was deleted and made again', async () => {
    const options = testOptions([events, apiKeys]);
    const asker = new Asker(options);
    const name = async (): Promise<string> => {
      const test = await openTestLog(options);
      const before = (await test.log.history(events))(7);
      expect((await test.log.history(apiKeys))(7)).not.toBe(before);
      // Deletes the topics.
      await test.close();
      const left = (): Promise<string[]> => asker.ask((admin) => admin.listTopics());
      await until('they are gone', async () => (await left()).every((topic) => !topic.startsWith(options.prefix)));
      return before;
    };
    expect(await name()).not.toBe(await name());
    await asker.close();
  });
});

describeOnKafka('its views', () => {
  viewsContract(() => openTestLog({ topics: [sources, apiKeys] }), 3);
});

describeOnKafka('its groups', () => {
  groupsContract(() => openTestLog({ topics: [sources, events, apiKeys] }));
});

describeOnKafka('a runner on it', () => {
  // On a busy machine a member may be silent for as long as a session is by default.
  runnerContract(() => openTestLog({ topics: [sources, events], sessionMs: 30_000 }), 3);
});

describeOnKafka('keys in it', () => {
  keysContract(() => openTestLog({ topics: keyTopics }));
});

describeOnKafka('claims in it', () => {
  const topics = [...new Set([...decided, ...keyTopics, sessions, sessionUses])];
  claimsContract(() => openTestLog({ topics }));
});

describeOnKafka('what people change in it', () => {
  decisionsContract(() => openTestLog({ topics: decided }));
});

describeOnKafka('monitors on it', () => {
  const topics = [...monitorsGroup.inputs, ...monitorsGroup.outputs, monitorStates, monitors, sources, presence, gateways];
  monitorsContract(() => openTestLog({ topics: [...new Set(topics)] }), true);
});

describeOnKafka('the deliveries of alerts from it', () => {
  const topics = [...noticesGroup.inputs, noticedSources, ...deliveriesGroup.inputs, deliveries, ...deliveriesGroup.outputs];
  deliveriesContract(() => openTestLog({ topics: [...topics, alertTargets, alertNotes] }), true);
});
