import type { Change } from '#log';
import type { ApiKey } from '#model';
import { apiKeys } from '#topics';
import { openKafka, type KafkaOptions } from './open-kafka.js';

/** A view of the API keys in a process of its own, which can be frozen. It prints what it shows when it is ready and each change. */
const kafka = await openKafka({ ...(JSON.parse(process.argv[2]!) as KafkaOptions), topics: [apiKeys], report: () => undefined });
const view = kafka.views.open(apiKeys);
const tell = (what: object): void => void process.stdout.write(`${JSON.stringify(what)}\n`);
await view.ready;
tell({ ready: Array.from(view.scan(''), ([key]) => key) });
view.changes(({ key, value }: Change<ApiKey>) => tell({ key, gone: value === null, shown: Array.from(view.scan(''), ([name]) => name) }));
