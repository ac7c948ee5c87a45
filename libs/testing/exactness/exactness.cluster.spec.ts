import { ClusterDeployment } from '../cluster-deployment.js';
import { describeOnServers } from '../servers.js';
import { exactnessSuite } from './suite.js';

describeOnServers('the roles as processes on Kafka and QuestDB', () => {
  exactnessSuite(() => ClusterDeployment.start(), 20);
});
