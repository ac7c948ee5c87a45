"""Appends a point to Headwater's log with Confluent's own serializer, as a bridge from another system would.

    pip install -r requirements.txt
    python produce.py --brokers 127.0.0.1:9092 --registry http://127.0.0.1:8085/apis/ccompat/v7 \\
        --org org_… --source boiler-1 --metric water.temperature --value 61.5

The schema is the newest one of the topic's subject. The key decides the partition, so it must be org/source, and the partitioner
must be Java's, which librdkafka calls murmur2_random.
"""

import argparse
import time

from confluent_kafka import Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--brokers", default="127.0.0.1:9092")
    arguments.add_argument("--registry", default="http://127.0.0.1:8085/apis/ccompat/v7")
    arguments.add_argument("--topic", default="telemetry.points.v1")
    for name in ("org", "source", "metric"):
        arguments.add_argument(f"--{name}", required=True)
    arguments.add_argument("--value", type=float, required=True)
    arguments.add_argument("--timestamp-ms", type=int, default=int(time.time() * 1000))
    arguments.add_argument("--compression", choices=["none", "gzip", "snappy", "lz4", "zstd"], default="none")
    asked = arguments.parse_args()

    registry = SchemaRegistryClient({"url": asked.registry})
    schema = registry.get_latest_version(f"{asked.topic}-value").schema
    encode = AvroSerializer(registry, schema, conf={"auto.register.schemas": False, "use.latest.version": True})
    batch = {
        "org_id": asked.org,
        "source_id": asked.source,
        "received_ms": int(time.time() * 1000),
        "series": [{"metric": asked.metric, "tags": {}, "timestamp_ms": [asked.timestamp_ms], "value": [asked.value]}],
    }
    failures = []
    producer = Producer(
        {
            "bootstrap.servers": asked.brokers,
            "partitioner": "murmur2_random",
            "acks": "all",
            "compression.type": asked.compression,
        }
    )
    producer.produce(
        asked.topic,
        key=f"{asked.org}/{asked.source}",
        value=encode(batch, SerializationContext(asked.topic, MessageField.VALUE)),
        on_delivery=lambda error, _: failures.append(error) if error else None,
    )
    if producer.flush(30) > 0 or failures:
        raise SystemExit(f"not delivered: {failures or 'timed out'}")


if __name__ == "__main__":
    main()
