import { ClusterDeployment } from '../cluster-deployment.js';
import { describeOnServers } from '../servers.js';
import { exactnessSuite } from './suite.js';

// Histories go through centuries: cut by the day, most of the time would be QuestDB's, for tables and partitions.
const settings = { HEADWATER_QUESTDB_PARTITION: 'WEEK' };

describeOnServers('the roles as processes on Kafka and QuestDB', () => {
  exactnessSuite(() => ClusterDeployment.start({ settings }), 10);
});
