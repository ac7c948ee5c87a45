/** A partition of a topic, as Kafka calls it. */
export interface TopicPartition {
  readonly topic: string;
  readonly partition: number;
}

/** A name for a partition that no other one has. */
export const partitionName = ({ topic, partition }: TopicPartition): string => `${partition} ${topic}`;
