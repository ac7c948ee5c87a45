"""A device and readers of its streams, with Python's websockets. Prints what each of them got, as one JSON object.

    python live.py http://127.0.0.1:8080 API_KEY SOURCE
"""

import asyncio
import json
import sys
import urllib.request

from websockets.asyncio.client import connect

base, api_key, source = sys.argv[1:]
streams = f"{base.replace('http', 'ws', 1)}/v1/sources/{source}"
at = 1_769_860_800_000


async def say(socket, **frame):
    await socket.send(json.dumps(frame))


async def hear(socket):
    return json.loads(await socket.recv())


async def until(socket, is_last):
    """All frames up to the first one that is the last."""
    frames = []
    while not frames or not is_last(frames[-1]):
        frames.append(await hear(socket))
    return frames


async def watch(socket):
    """Reads as a client that wants cursors, which is told where it is once it listens."""
    await say(socket, type="auth", api_key=api_key)
    await until(socket, lambda frame: frame["type"] == "cursor")


def post_command():
    request = urllib.request.Request(
        f"{base}/v1/sources/{source}/commands",
        data=json.dumps({"command": "calibrate", "params": {"offset": 0.25}}).encode(),
        headers={"x-api-key": api_key, "content-type": "application/json"},
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


async def main():
    got = {}
    async with (
        connect(f"{base.replace('http', 'ws', 1)}/ws/device") as device,
        connect(f"{streams}/metrics/stream?cursor=1") as metrics,
        connect(f"{streams}/logs/stream?cursor=1") as logs,
    ):
        await say(device, type="device_auth", api_key=api_key, source_id=source, acks=True)
        got["login"] = await hear(device)
        await watch(metrics)
        await watch(logs)

        for seq in range(1, 4):
            await say(device, type="telemetry", seq=seq, points=[{"metric": "m", "value": seq / 2, "timestamp": at + seq}])
        await say(device, type="telemetry", seq=4, points=[{"metric": "e", "class": "event", "value": {"a": None}, "timestamp": at}])
        got["acks"] = await until(device, lambda frame: frame.get("seq") == 4)

        got["receipt"] = await asyncio.to_thread(post_command)
        got["command"] = await hear(device)
        outcome = {"type": "command_result", "id": got["command"]["id"], "command": "calibrate"}
        await say(device, **outcome, event="ack")
        await say(device, **outcome, event="result", result=[1, "é"])

        points = await until(metrics, lambda frame: any(point["value"] == 1.5 for point in frame.get("points", [])))
        got["points"] = [point for frame in points for point in frame.get("points", [])]
        events = await until(logs, lambda frame: frame["type"] == "event" and "result" in (frame["value"] or {}))
        got["events"] = [frame for frame in events if frame["type"] == "event"]
    print(json.dumps(got))


asyncio.run(asyncio.wait_for(main(), 60))
