import type { PartitionAssigner } from 'kafkajs';
import { kafkajs } from './kafkajs.js';

const { MemberAssignment, MemberMetadata } = kafkajs.AssignerProtocol;
const name = 'headwater';
const version = 0;

/**
 * Gives partition n of all topics of a group to one member.
 *
 * @param joining called just before this member asks to join: from then on its partitions may be given to others. When it answers false
 * the member does not ask yet: kafkajs takes it for what a broker says that is still rebalancing, and tries again after a pause.
 */
export function assigner(joining: () => boolean): PartitionAssigner {
  return ({ cluster }) => ({
    name,
    version,
    protocol({ topics }) {
      if (!joining()) throw Object.assign(new Error('something is still under way'), { type: 'REBALANCE_IN_PROGRESS' });
      return { name, metadata: MemberMetadata.encode({ version, topics, userData: Buffer.alloc(0) }) };
    },
    async assign({ members, topics }) {
      const ids = members.map(({ memberId }) => memberId).sort();
      return ids.map((memberId, at) => {
        const assignment: Record<string, number[]> = {};
        for (const topic of topics) {
          const partitions = cluster.findTopicPartitionMetadata(topic).map(({ partitionId }) => partitionId);
          assignment[topic] = partitions.filter((partition) => partition % ids.length === at);
        }
        return { memberId, memberAssignment: MemberAssignment.encode({ version, assignment, userData: Buffer.alloc(0) }) };
      });
    },
  });
}
