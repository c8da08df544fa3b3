#!/usr/bin/env python3
"""regress.py BINARY PEERS: makes regression tests of recordings of real servers, and runs them.

Each case records a client with a server, and makes a session file of that with `mcp-tap test --add`. Against the same
server the test must pass ten times in a row, without any configuration; against another published version it must
fail and name exactly the differences that are known. The server's state is made anew before every run. PEERS is the
folder that run.sh fills.
"""
import json
import shlex
import sys

from pairs import TAP, must_be
from replay import CHANGED, SAME, Case, main, named

TIMES = 10


class Regression(Case):
    """A session file, and the server that it is tested against."""

    def run(self):
        reset, _ = self.record()
        before = f"sh {shlex.quote(reset)}"
        file = f"{self.work}/case.jsonl"
        with_reset = ["--store", self.store, "--before", before]
        added = self.start([TAP, "test", "--add", "case", "-o", file, *with_reset, "--",
                            *self.in_root(self.recorded)], [0, 1])
        must_be("status of --add", (added.returncode, "ready" in added.stdout.decode()), (0, True))
        learned = sum(line.startswith(b"  ") for line in added.stdout.splitlines())
        if self.known is None:
            for _ in range(TIMES):
                done = self.start([TAP, "test", file, *with_reset, "--", *self.in_root(self.recorded)], [0, 1])
                must_be("status", (done.returncode, done.stdout.decode() if done.returncode else ""), (0, ""))
            if self.title.startswith("time"):
                self.in_another_zone(file, with_reset)
            return f"{TIMES} times well, {learned} masks learned"
        done = self.start([TAP, "test", file, *with_reset, "--json", "--", *self.in_root(self.replayed)], [0, 1])
        tested = json.loads(done.stdout)["files"][0]
        found = {named(change) for change in tested["changes"] if change["level"] != "soft"}
        must_be("differences that are not reported", sorted(set(self.known) - found), [])
        must_be("differences that are not known", sorted(found - set(self.known)), [])
        must_be("status and verdict", (done.returncode, tested["verdict"]), (1, "failed"))
        shown = self.start([TAP, "test", file, *with_reset, "--", *self.in_root(self.replayed)], [1]).stdout.decode()
        failing = next(change for change in tested["changes"] if change["failed"])
        must_be("place that is shown", failing["pointer"].rsplit("/", 1)[-1] in shown, True)
        return f"failed, {len(found)} differences, {learned} masks learned"


    def in_another_zone(self, file, with_reset):
        """Asks for another time zone than was recorded: what time it is differs by itself, where it is so does not."""
        with open(file, encoding="utf-8") as kept:
            lines = kept.readlines()
        other = f"{self.work}/zone.jsonl"
        with open(other, "w", encoding="utf-8") as changed:
            for line in lines:
                asks = '"dir":"to_server"' in line
                changed.write(line.replace("Europe/Berlin", "Asia/Tokyo") if asks else line)
        done = self.start([TAP, "test", other, *with_reset, "--", *self.in_root(self.recorded)], [0, 1])
        must_be("another zone is found", (done.returncode, b"Asia/Tokyo" in done.stdout), (1, True))


def one_of_each():
    """Returns the first case of each server in its newest version."""
    servers = {}
    for case in SAME:
        servers.setdefault(case[0].split()[0], case)
    return list(servers.values())


if __name__ == "__main__":
    sys.exit(main(Regression, one_of_each() + CHANGED, "mcp-tap-regress-"))
