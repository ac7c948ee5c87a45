"""Headwater without a client library, with requests and websockets: functions to copy.

    pip install -r plain-requirements.txt
    export HEADWATER_API_KEY=hw_...
    python plain.py post greenhouse air.temperature 21.5
    python plain.py follow greenhouse air.temperature         # prints points as they come
    python plain.py device greenhouse                         # measures every second, and carries out set_fan
    python plain.py command greenhouse set_fan '{"rpm": 900}'
"""

import json
import os
import random
import sys
import time
from urllib.parse import quote, urlencode

import requests
from requests.adapters import HTTPAdapter
from urllib3.util import Retry
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.sync.client import connect

URL = os.environ.get("HEADWATER_URL", "http://localhost:8080")
WS_URL = URL.replace("http", "ws", 1)
KEY = os.environ["HEADWATER_API_KEY"]

http = requests.Session()
http.headers["x-api-key"] = KEY
# Where the server is busy or away, reads are tried again, and so are points: they carry their times. A command is not.
busy = Retry(total=8, backoff_factor=0.5, backoff_jitter=0.5, status_forcelist=[429, 502, 503, 504], allowed_methods=["GET"])
http.mount(URL, HTTPAdapter(max_retries=busy))
http.mount(f"{URL}/ingest", HTTPAdapter(max_retries=busy.new(allowed_methods=["POST"])))


def ask(method, path, **options):
    answer = http.request(method, URL + path, timeout=60, **options)
    if not answer.ok:
        raise RuntimeError(f"{answer.status_code}: {answer.text}")
    return answer.json()


def path_of(source):
    return f"/v1/sources/{quote(source, safe='')}"


def point(metric, value):
    return {"metric": metric, "value": value, "timestamp": int(time.time() * 1000)}


def post(source, points):
    """Stores up to 10,000 points. When it returns they are on disk, each once, however often they had to be sent."""
    ask("POST", "/ingest", json={"source_id": source, "points": points})


def pause_after(error):
    """Waits a little before another connection. Raises the error where another one would not help."""
    if isinstance(error, InvalidStatus) and error.response.status_code not in (429, 502, 503, 504):
        raise error
    if isinstance(error, ConnectionClosed) and error.rcvd and error.rcvd.code in (1008, 4401, 4402):
        raise error
    time.sleep(random.uniform(0.5, 3))


def follow(source, metrics=(), cursor=None):
    """Yields the messages of the live stream, for ever. Each next connection goes on behind the last message; whoever keeps its cursor
    can do so too, for an hour. A message of type gap says what a query has to be asked for."""
    names = ",".join(metric.replace(",", "\\,") for metric in metrics)
    while True:
        asked = {"cursor": 1, **({"metrics": names} if names else {}), **({"after": cursor} if cursor else {})}
        try:
            # A message may hold all points of a large body.
            with connect(f"{WS_URL}{path_of(source)}/metrics/stream?{urlencode(asked)}", max_size=2**24) as socket:
                socket.send(json.dumps({"type": "auth", "api_key": KEY}))
                while True:
                    message = json.loads(socket.recv())
                    cursor = message.get("cursor", cursor)
                    yield message
        except (OSError, WebSocketException) as error:
            pause_after(error)


def command(source, name, params, timeout_s=30):
    """Has a connected device do something, and returns what it answers. The device gets the command once or never."""
    receipt = ask("POST", f"{path_of(source)}/commands", json={"command": name, "params": params})
    if not receipt["queued"]:
        raise RuntimeError("The device is not connected, or has 64 commands that it has not answered.")
    late = time.monotonic() + timeout_s
    while time.monotonic() < late:
        entries = ask("GET", f"{path_of(source)}/logs", params={"name": "command.result", "tail": 256})
        outcomes = [json.loads(entry["value"]) for entry in entries if receipt["id"] in entry["value"]]
        for outcome in outcomes:
            if outcome["event"] == "error":
                raise RuntimeError(outcome["error"])
            if outcome["event"] == "result":
                return outcome.get("result")
        time.sleep(0.2)
    raise TimeoutError(f"The device has not said how {name} ended.")


def frames(socket, pause_s):
    """What the server says, the first frame first; None where it has said nothing for so long."""
    yield json.loads(socket.recv())
    while True:
        try:
            frame = json.loads(socket.recv(timeout=pause_s))
        except TimeoutError:
            frame = None
        yield frame


def be_device(source, measure, commands, every_s=1):
    """Keeps a device connected, for ever: sends what it measures, and carries out commands."""
    while True:
        try:
            with connect(f"{WS_URL}/ws/device") as socket:
                socket.send(json.dumps({"type": "device_auth", "api_key": KEY, "source_id": source}))
                for frame in frames(socket, every_s):
                    if frame is None:
                        socket.send(json.dumps({"type": "telemetry", "points": [measure()]}))
                    elif frame["type"] == "typed_command":
                        socket.send(json.dumps(answer_to(frame, commands)))
                    elif frame["type"] == "error":
                        print(frame, file=sys.stderr)
        except (OSError, WebSocketException) as error:
            pause_after(error)


def answer_to(frame, commands):
    """The result of a command, or as the error what it has raised."""
    outcome = {"type": "command_result", "id": frame["id"], "command": frame["command"]}
    try:
        return {**outcome, "event": "result", "result": commands[frame["command"]](frame["params"])}
    except Exception as error:
        return {**outcome, "event": "error", "error": repr(error)}


def be_greenhouse(source):
    fan = {"rpm": 0}

    def measure():
        return point("air.temperature", 25 - fan["rpm"] / 300 + random.random())

    def set_fan(params):
        fan["rpm"] = params["rpm"]
        return fan

    be_device(source, measure, {"set_fan": set_fan})


def main():
    match sys.argv[1:]:
        case ["post", source, metric, value]:
            post(source, [point(metric, float(value))])
        case ["follow", source, *metrics]:
            for message in follow(source, metrics):
                if message["type"] != "cursor":
                    print(json.dumps(message), flush=True)
        case ["device", source]:
            be_greenhouse(source)
        case ["command", source, name, params]:
            print(json.dumps(command(source, name, json.loads(params))))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
