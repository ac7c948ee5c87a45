import { ClusterDeployment, twoOfEach } from '../cluster-deployment.js';
import { describeOnServers } from '../servers.js';
import { apiSuite } from './suite.js';

describeOnServers('the roles as processes on Kafka and QuestDB', () => {
  apiSuite(async () => {
    const deployment = await ClusterDeployment.start({ replicas: twoOfEach });
    return { urls: deployment.urls, keys: deployment.keys, close: () => deployment.stop() };
  });
});
