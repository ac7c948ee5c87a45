import type { PartitionAssigner } from 'kafkajs';
import { kafkajs } from '../kafkajs.js';

const { MemberAssignment, MemberMetadata } = kafkajs.AssignerProtocol;
const name = 'headwater';
const version = 0;

/**
 * Gives partition n of all topics of a group to one member.
 *
 * @param joining called just before this member asks to join: from then on its partitions may be given to others.
 */
export function assigner(joining: () => void): PartitionAssigner {
  return ({ cluster }) => ({
    name,
    version,
    protocol({ topics }) {
      joining();
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
