#!/usr/bin/env python3
"""mock.py BINARY PEERS: has real clients talk to recordings of real servers, and checks that they notice nothing.

Each case records a client with a server, and then the same client with `mcp-tap mock` of that recording, behind the tap
again. What the client found, and what it was told, must be the same: `mcp-tap diff --strict` finds nothing, and nothing
was missed. PEERS is the folder that run.sh fills.
"""
import json
import os
import sys

import replay
from pairs import CLIENTS, EVERYTHING, PY, TAP, TIME, TS1, TS2, must_be
from replay import EVERYTHING_2026, FILES, FILES_2026, FRESH_FOLDER, MEMORY, MEMORY_2026, TIME_2026

CASES = [
    ("mock of everything 2026.8.31", TS1, "legacy", "", EVERYTHING, EVERYTHING_2026),
    ("mock of everything 2026.8.31", PY, "legacy", "", EVERYTHING, EVERYTHING_2026),
    ("mock of filesystem 2026.8.31", TS2, "auto", FRESH_FOLDER, FILES, FILES_2026),
    ("mock of memory 2026.8.31", TS1, "legacy", "", MEMORY, MEMORY_2026),
    ("mock of time 2026.10.19", PY, "2026-07-28", "", TIME, TIME_2026),
    ("mock of time 2026.10.19", TS2, "auto", "", TIME, TIME_2026),
]


class Mocked(replay.Case):
    """One client, and one server that is recorded and then mocked."""

    def run(self):
        _, said = self.record()
        report = f"{self.work}/mock.json"
        mock = [TAP, "record", "--store", self.store, "--name", "mocked", "--",
                TAP, "mock", "--store", self.store, "case", "--report", report]
        steps = json.dumps(self.in_root(self.steps))
        command = [*CLIENTS[self.client], self.mode, steps, self.root, "--", *mock]
        must_be("what the client says of the mock", json.loads(self.start(command, [0]).stdout), said)
        self.wait_for_the_end()
        if os.path.exists(report):
            with open(report, encoding="utf-8") as file:
                met = json.load(file)
            must_be("misses, and waits in vain", [met["misses"], met["given_up"]], [[], []])
        done = self.start([TAP, "diff", "--store", self.store, "case", "mocked", "--strict", "--json"], [0, 1])
        diff = json.loads(done.stdout)["diff"]
        changes = [change for change in diff["changes"] if change["level"] != "soft"]
        must_be("changes", changes, [])
        return {(diff["same"], diff["changed"])}


if __name__ == "__main__":
    sys.exit(replay.main(Mocked, CASES, "mcp-tap-mock-"))
