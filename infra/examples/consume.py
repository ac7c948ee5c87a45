"""Prints Headwater's points as lines of JSON, read from Kafka with Confluent's own deserializer.

    pip install -r requirements.txt
    python consume.py --brokers 127.0.0.1:9092 --registry http://127.0.0.1:8085/apis/ccompat/v7

It reads from the beginning and follows the topic; --to-end stops where the topic ended at the start.
"""

import argparse
import json
import sys

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext


def points_of(batch):
    """A record holds one request's points of one source, in parallel arrays."""
    for series in batch["series"]:
        for timestamp_ms, value in zip(series["timestamp_ms"], series["value"]):
            yield {
                "org_id": batch["org_id"],
                "source_id": batch["source_id"],
                "metric": series["metric"],
                "tags": series["tags"],
                "timestamp_ms": timestamp_ms,
                "value": value,
            }


def partitions_of(consumer, topic):
    known = consumer.list_topics(topic, timeout=30).topics[topic]
    if known.error is not None:
        sys.exit(f"{topic}: {known.error}")
    return [TopicPartition(topic, partition, 0) for partition in known.partitions]


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--brokers", default="127.0.0.1:9092")
    arguments.add_argument("--registry", default="http://127.0.0.1:8085/apis/ccompat/v7")
    arguments.add_argument("--topic", default="telemetry.points.v1")
    arguments.add_argument("--to-end", action="store_true")
    asked = arguments.parse_args()

    decode = AvroDeserializer(SchemaRegistryClient({"url": asked.registry}))
    context = SerializationContext(asked.topic, MessageField.VALUE)
    consumer = Consumer({"bootstrap.servers": asked.brokers, "group.id": "example", "enable.auto.commit": False})
    partitions = partitions_of(consumer, asked.topic)
    left = {it.partition: consumer.get_watermark_offsets(it, timeout=30)[1] for it in partitions}
    left = {partition: end for partition, end in left.items() if end > 0}
    consumer.assign(partitions)

    while left or not asked.to_end:
        message = consumer.poll(1.0)
        if message is None:
            continue
        if message.error():
            sys.exit(str(message.error()))
        for point in points_of(decode(message.value(), context)):
            print(json.dumps(point))
        if message.offset() + 1 >= left.get(message.partition(), 0):
            left.pop(message.partition(), None)
    consumer.close()


if __name__ == "__main__":
    main()
