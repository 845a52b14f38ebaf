"""Starts `perdure test-server` once, and the endpoint beside it. PERDURE names the program."""

import asyncio
import json
import os
import socket
import subprocess
import threading
import urllib.request

import pytest
from hypercorn.asyncio import serve
from hypercorn.config import Config

from orders import app


class Perdure:
    """The addresses of the test server, and its requests."""

    def __init__(self, addresses):
        self.ingress = addresses["ingress_url"]
        self.admin = addresses["admin_url"]

    def request(self, method, url, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data, {"content-type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)

    def advance(self, **duration):
        """Moves time, and returns when all that became due has run."""
        return self.request("POST", f"{self.admin}/testing/clock", duration)

    def crash_at(self, step, when):
        return self.request("POST", f"{self.admin}/testing/faults", {"kind": "crash", "step": step, "when": when})

    def steps(self, invocation_id):
        journal = self.request("GET", f"{self.admin}/testing/journals/{invocation_id}")
        return [step["label"] for step in journal["steps"]]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_endpoint():
    port = free_port()
    config = Config()
    config.bind = [f"127.0.0.1:{port}"]
    started = threading.Event()

    async def run():
        task = asyncio.create_task(serve(app, config, shutdown_trigger=asyncio.Event().wait))
        while socket.socket().connect_ex(("127.0.0.1", port)) != 0:
            await asyncio.sleep(0.01)
        started.set()
        await task

    threading.Thread(target=lambda: asyncio.run(run()), daemon=True).start()
    started.wait(30)
    return f"http://127.0.0.1:{port}"


@pytest.fixture(scope="session")
def perdure():
    program = [os.environ.get("PERDURE", "perdure"), "test-server", "--skip-time", "manual"]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        perdure = Perdure(json.loads(server.stdout.readline()))
        perdure.request("POST", f"{perdure.admin}/deployments", {"uri": start_endpoint()})
        yield perdure
        server.stdin.close()  # The server ends with its input.
