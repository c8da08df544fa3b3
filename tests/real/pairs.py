#!/usr/bin/env python3
"""pairs.py BINARY PEERS: records real clients talking to real servers, and checks what was recorded.

Each pair runs as   client - tee - mcp-tap record - tee - server   and then these must be the same, byte for byte, on
stdin, stdout and stderr: what the outer tee saw, what the inner tee saw, what `mcp-tap export` says. Beside that the
reports of `sessions` and `inspect` must say what the client saw. PEERS is the folder that run.sh fills.

Some clients start their server once to ask for its revision, and once more to talk. That the first start is known for
a probe is checked without the outer tee, because it takes that both have the same parent.
"""
import base64
import concurrent.futures
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TAP, PEERS = (os.path.abspath(path) for path in sys.argv[1:3])
NODE = shutil.which("node")
PYTHON = f"{PEERS}/python/bin/python"
SCOPE = "node_modules/@modelcontextprotocol"
SMALL = "two taps: näif, 水, 🚰\n"
LIMIT_S = 60

CLIENTS = {
    "typescript-1.32.2": [NODE, f"{HERE}/client.mjs", f"{PEERS}/sdk-1.32.2/{SCOPE}/sdk"],
    "typescript-2.4.0": [NODE, f"{HERE}/client.mjs", f"{PEERS}/client-2.4.0/{SCOPE}/client"],
    "python-2.3.0": [PYTHON, f"{HERE}/client.py"],
}


def npm(server, version, *args):
    return [NODE, f"{PEERS}/{server}-{version}/{SCOPE}/server-{server}/dist/index.js", *args]


# What each server is asked, and how it must answer ("is", ok unless it says otherwise).
EVERYTHING = [
    {"wait_for_tools": ["get-roots-list", "trigger-sampling-request", "trigger-elicitation-request"]},
    {"list": "resources"}, {"list": "templates"}, {"list": "prompts"},
    {"call": "echo", "with": {"message": SMALL}},
    {"call": "echo", "with": {"message": 5}, "is": "tool_error"},
    {"call": "get-sum", "with": {"a": 2, "b": 40}},
    {"call": "get-tiny-image"},
    {"call": "get-structured-content", "with": {"location": "Chicago"}},
    {"call": "get-roots-list"},
    {"call": "trigger-sampling-request", "with": {"prompt": "one line", "maxTokens": 20}},
    {"call": "trigger-elicitation-request"},
    {"call": "trigger-long-running-operation", "with": {"duration": 1, "steps": 4}, "progress": True},
    {"call": "trigger-long-running-operation", "with": {"duration": 2, "steps": 2}, "cancel_after_ms": 300,
     "is": "gave_up"},
    {"read": "demo://resource/dynamic/text/7"},
    {"read": "demo://resource/dynamic/blob/3"},
    {"read": "demo://nowhere", "is": "rpc_error"},
    {"prompt": "simple-prompt"},
    {"prompt": "args-prompt", "with": {"city": "Łódź"}},
    {"complete": "completable-prompt", "argument": "department", "value": "E"},
    {"level": "debug"},
    {"together": [
        {"call": "trigger-long-running-operation", "with": {"duration": 0.5, "steps": 2}},
        {"call": "echo", "with": {"message": "overtakes"}},
        {"call": "get-sum", "with": {"a": 1, "b": 1}},
        {"call": "trigger-sampling-request", "with": {"prompt": "meanwhile", "maxTokens": 5}},
    ]},
    {"ping": True},
]
OLD_EVERYTHING = [
    {"list": "tools"}, {"list": "resources"}, {"list": "templates"}, {"list": "prompts"},
    {"call": "echo", "with": {"message": SMALL}},
    {"call": "add", "with": {"a": 2, "b": 40}},
    {"call": "getTinyImage"},
    {"call": "sampleLLM", "with": {"prompt": "one line", "maxTokens": 20}},
    {"call": "longRunningOperation", "with": {"duration": 1, "steps": 4}, "progress": True},
    {"read": "test://static/resource/1"},
    {"read": "test://static/resource/2"},
    {"read": "test://static/resource/999", "is": "rpc_error"},
    {"prompt": "simple_prompt"},
    {"prompt": "complex_prompt", "with": {"temperature": "0.7", "style": "dry"}},
    {"ping": True},
]
EVERYTHING_0_6 = OLD_EVERYTHING + [
    {"complete": "complex_prompt", "argument": "style", "value": "c", "is": "rpc_error"},
]
EVERYTHING_2025_8 = OLD_EVERYTHING + [
    {"complete": "complex_prompt", "argument": "style", "value": "c"},
    {"call": "annotatedMessage", "with": {"messageType": "error", "includeImage": True}},
    {"call": "structuredContent", "with": {"location": "Berlin"}},
    {"call": "startElicitation"},
    {"call": "longRunningOperation", "with": {"duration": 2, "steps": 2}, "cancel_after_ms": 300, "is": "gave_up"},
]
FILESYSTEM = [
    {"list": "tools"},
    {"call": "list_allowed_directories"},
    {"call": "write_file", "with": {"path": "{root}/new.txt", "content": SMALL}},
    {"call": "read_file", "with": {"path": "{root}/new.txt"}},
    {"call": "read_file", "with": {"path": "{root}/big.txt"}},
    {"call": "read_file", "with": {"path": "/etc/hostname"}, "is": "tool_error"},
    {"call": "read_file", "with": {"path": "{root}/missing.txt"}, "is": "tool_error"},
    {"call": "list_directory", "with": {"path": "{root}"}},
    {"call": "move_file", "with": {"source": "{root}/new.txt", "destination": "{root}/moved.txt"}},
]
TIME = [
    {"list": "tools"},
    {"call": "get_current_time", "with": {"timezone": "Europe/Berlin"}},
    {"call": "convert_time", "with": {"source_timezone": "UTC", "time": "12:30", "target_timezone": "Asia/Tokyo"}},
    {"call": "get_current_time", "with": {"timezone": "Mars/Base"}, "is": "tool_error"},
    {"call": "no_such_tool", "is": "rpc_error"},
]

# Folder, the name that it gives itself, command, what it is asked, how it must end (None: by itself or by the client's
# TERM, as quick as it is).
EVERYTHING_2026 = ("everything-2026.8.31", "mcp-servers/everything", npm("everything", "2026.8.31"), EVERYTHING, None)
# Old ones do not end when their stdin does: the client has to end them.
EVERYTHING_2025 = ("everything-2025.8.4", "example-servers/everything", npm("everything", "2025.8.4"),
                   EVERYTHING_2025_8, {"signal": 15})
EVERYTHING_2024 = ("everything-0.6.2", "example-servers/everything", npm("everything", "0.6.2"),
                   EVERYTHING_0_6, {"signal": 15})
FILESYSTEM_2026 = ("filesystem-2026.8.31", "secure-filesystem-server", npm("filesystem", "2026.8.31", "{root}"),
                   FILESYSTEM, None)
FILESYSTEM_2025 = ("filesystem-2025.8.21", "secure-filesystem-server", npm("filesystem", "2025.8.21", "{root}"),
                   FILESYSTEM, None)
TIME_2026 = ("time-2026.10.19", "mcp-time", [f"{PEERS}/python/bin/mcp-server-time", "--local-timezone", "UTC"],
             TIME, None)

# What the client answers or hears, beside answers to its calls.
ALL = ["elicitation", "progress", "roots", "sampling"]
NO_ROOTS = ["elicitation", "progress", "sampling"]
TS1, TS2, PY = CLIENTS

# Client, its mode, server, the revisions in their order (the last is the one agreed on), what the client answers.
PAIRS = [
    (TS1, "legacy", EVERYTHING_2024, ["2025-11-25", "2024-11-05"], ["progress", "sampling"]),
    (PY, "legacy", EVERYTHING_2024, ["2025-11-25", "2024-11-05"], ["progress", "sampling"]),
    (TS1, "legacy", EVERYTHING_2025, ["2025-11-25", "2025-06-18"], NO_ROOTS),
    (PY, "auto", EVERYTHING_2025, ["2026-07-28", "2025-11-25", "2025-06-18"], NO_ROOTS),
    (TS2, "legacy", FILESYSTEM_2025, ["2025-11-25", "2025-06-18"], ["roots"]),
    (TS1, "legacy", EVERYTHING_2026, ["2025-11-25"], ALL),
    (PY, "legacy", EVERYTHING_2026, ["2025-11-25"], ALL),
    (TS1, "legacy", FILESYSTEM_2026, ["2025-11-25"], ["roots"]),
    (PY, "auto", FILESYSTEM_2026, ["2026-07-28", "2025-11-25"], ["roots"]),
    (TS1, "legacy", TIME_2026, ["2025-11-25"], []),
    (PY, "auto", TIME_2026, ["2026-07-28"], []),
    (PY, "2026-07-28", TIME_2026, ["2026-07-28"], []),
    (TS2, "auto", TIME_2026, ["2026-07-28"], []),
    (TS2, "2026-07-28", TIME_2026, ["2026-07-28"], []),
    (TS2, "auto", TIME_2026, ["2026-07-28"], [], "probe"),
    (TS2, "2026-07-28", TIME_2026, ["2026-07-28"], [], "probe"),
]


class Wrong(Exception):
    """Something is not as it must be."""


def must_be(what, found, expected):
    if found != expected:
        raise Wrong(f"{what}: {json.dumps(found)[:2000]} instead of {json.dumps(expected)[:2000]}")


def same_bytes(what, found, expected):
    if found == expected:
        return
    at = next((at for at, (a, b) in enumerate(zip(found, expected)) if a != b), min(len(found), len(expected)))
    around = slice(max(at - 40, 0), at + 40)
    raise Wrong(f"{what}: {len(found)} bytes instead of {len(expected)}, other from byte {at} on: "
                f"{found[around]!r} instead of {expected[around]!r}")


def flat(values, inside=lambda value: value if isinstance(value, list) else None):
    for value in values:
        inner = inside(value)
        yield from flat(inner, inside) if inner is not None else [value]


def seen_by(tee):
    """Returns what the tees of a folder kept, one dictionary for each start, in their order."""
    bases = sorted(path[:-3] for path in glob.glob(f"{tee}/*.in"))
    return [{end: open(f"{base}.{end}", "rb").read() for end in ("in", "out", "err", "status")} for base in bases]


def exported(text):
    """Returns the three streams of a session file."""
    streams = {"in": b"", "out": b"", "err": b""}
    for line in text.split(b"\n")[1:]:
        if not line:
            continue
        frame = json.loads(line)
        if "message" in frame:
            # The exact text stands there; the members before it hold no text of a peer's.
            raw = line[line.index(b',"message":') + 11:-1] + b"\n"
        elif "text" in frame:
            raw = frame["text"].encode()
        else:
            raw = base64.b64decode(frame["base64"], validate=True)
        end = "err" if frame.get("ch") == "stderr" else "in" if frame["dir"] == "to_server" else "out"
        streams[end] += raw
    return streams


class Pair:
    """One client and one server, and the folder that they work in."""

    def __init__(self, work, client, mode, server, revisions, answered, probe=None):
        self.server, self.name, self.command, self.steps, self.exit_status = server
        self.client, self.mode, self.revisions, self.answered = client, mode, revisions, answered
        self.revision = revisions[-1]
        self.starts = 2 if client == TS2 and mode != "legacy" else 1
        self.probe = probe is not None
        self.work = os.path.join(work, "-".join(filter(None, [client, mode, self.server, probe])))
        self.root = f"{self.work}/root"
        self.store = f"{self.work}/store.db"
        self.title = f"{client:17} {mode:10} {self.server:20} {self.revision} {probe or '':5}"

    def in_root(self, value):
        return json.loads(json.dumps(value).replace("{root}", self.root))

    def tap(self, *args):
        done = subprocess.run([TAP, "--store", self.store, *args], env=self.environment(), capture_output=True,
                              timeout=LIMIT_S)
        must_be(f"stderr of mcp-tap {' '.join(args)}", done.stderr.decode(), "")
        must_be(f"status of mcp-tap {' '.join(args)}", done.returncode, 0)
        return done.stdout

    def environment(self):
        return {"HOME": self.work, "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}

    def run(self):
        os.makedirs(self.root)
        with open(f"{self.root}/big.txt", "w", encoding="utf-8") as big:
            # Long enough to be stored in parts.
            big.writelines(f"line {number}: {SMALL}" for number in range(40_000))
        tee = [sys.executable, f"{HERE}/tee.py"]
        inner = [*tee, f"{self.work}/inner", "--", *self.in_root(self.command)]
        recorded = [TAP, "record", "--store", self.store, "--", *inner]
        outer = recorded if self.probe else [*tee, f"{self.work}/outer", "--", *recorded]
        steps = json.dumps(self.in_root(self.steps))
        client = [*CLIENTS[self.client], self.mode, steps, self.root, "--", *outer]
        done = subprocess.run(client, env=self.environment(), capture_output=True, timeout=LIMIT_S)
        if done.returncode != 0:
            raise Wrong(f"the client ended with {done.returncode}: {done.stderr.decode()[-2000:]}")
        said = json.loads(done.stdout)
        self.wait_for_the_end()
        self.check_client(said)
        sessions = self.check_sessions()
        sizes = self.check_bytes(sessions)
        self.check_messages(sessions[-1])
        return sizes

    def wait_for_the_end(self):
        """A client may go before the commands it started have ended."""
        until = time.monotonic() + 15
        while time.monotonic() < until:
            listed = json.loads(self.tap("sessions", "--all", "--json"))["sessions"]
            begun, ended = (len(glob.glob(f"{self.work}/*/*.{end}")) for end in ("in", "status"))
            if begun == ended and not any(session["live"] for session in listed):
                return
            time.sleep(0.05)
        raise Wrong("the server runs on after its client has ended")

    def check_client(self, said):
        must_be("revision agreed on", said["revision"], self.revision)
        # Who is told the revision to speak need not ask for a name.
        unnamed = self.client == PY and self.mode == "2026-07-28"
        must_be("server as the client knows it", said["server"], None if unnamed else self.name)
        must_be("questions answered", said["answered"], self.answered)
        expected = [step.get("is", "ok") for step in flat(self.steps, lambda step: step.get("together"))]
        must_be("outcomes at the client", list(flat(said["outcomes"])), expected)

    def check_sessions(self):
        listed = json.loads(self.tap("sessions", "--json"))
        every = json.loads(self.tap("sessions", "--all", "--json"))["sessions"][::-1]
        must_be("starts", len(every), self.starts)
        session = every[-1]
        if self.probe:
            must_be("sessions in the list", [one["id"] for one in listed["sessions"]], [session["id"]])
            must_be("how many there are", listed["total"], 1)
            must_be("probes", [one["probe"] for one in every], [True, False])
            must_be("the session of the probe", every[0]["parent"], session["id"])
            must_be("messages of the probe", every[0]["messages"], 2)
        for one in every:
            found = {key: one[key] for key in ("live", "incomplete", "lost_frames", "transport", "origin")}
            expected = {"live": False, "incomplete": False, "lost_frames": 0, "transport": "stdio", "origin": "record"}
            must_be("session", found, expected)
        if self.exit_status:
            must_be("exit status", session["exit_status"], self.exit_status)
        must_be("revisions", session["revisions"], self.revisions)
        must_be("server", session["server"]["name"], self.name)
        must_be("client", session["client"]["name"], f"real-{self.client.split('-')[0]}")
        return every

    def check_bytes(self, sessions):
        inner = seen_by(f"{self.work}/inner")
        outer = inner if self.probe else seen_by(f"{self.work}/outer")
        must_be("starts", [len(outer), len(inner)], [len(sessions)] * 2)
        for before, behind, session in zip(outer, inner, sessions):
            recorded = exported(self.tap("export", session["id"]))
            for end in ("in", "out", "err"):
                same_bytes(f"std{end} behind the tap", behind[end], before[end])
                same_bytes(f"std{end} in the recording", recorded[end], before[end])
            must_be("exit status behind the tap", json.loads(behind["status"]), session["exit_status"])
            must_be("exit status before the tap", json.loads(before["status"]), session["exit_status"])
        return [sum(len(one[end]) for one in outer) for end in ("in", "out", "err")]

    def check_messages(self, session):
        messages = json.loads(self.tap("inspect", session["id"], "--json"))["messages"]
        odd = [message for message in messages if message["flaws"] or message["kind"] in ("blank", "stray", "invalid")]
        must_be("odd messages", odd, [])
        requests = [message for message in messages if message["kind"] == "request"]
        unanswered = [r for r in requests if not r["answer"] and r["outcome"] != "gave_up"]
        must_be("unanswered requests", unanswered, [])
        methods = {"tools/call": "call", "resources/read": "read", "prompts/get": "prompt"}
        found = [[r["name"], r["outcome"]] for r in requests if r["method"] in methods and r["dir"] == "to_server"]
        steps = flat(self.steps, lambda step: step.get("together"))
        named = [(step, next(step[key] for key in methods.values() if key in step))
                 for step in steps if any(key in step for key in methods.values())]
        must_be("outcomes in the recording", found, [[name, step.get("is", "ok")] for step, name in named])
        calls = [step.get("is", "ok") for step, _ in named if "call" in step]
        bad = [outcome for outcome in calls if outcome != "ok"]
        must_be("calls, and those that ended badly", [session["calls"], session["bad"]], [len(calls), len(bad)])
        # From the agreement on, every message is of the revision agreed on.
        handshake = [message["seq"] for message in messages if message["method"] == "initialize"]
        others = [m for m in messages if m["seq"] >= max(handshake, default=0) and m["revision"] != self.revision]
        must_be("messages of another revision", others, [])
        must_be("handshakes", len(handshake), 0 if self.revision == "2026-07-28" else 2)
        progress = [m for m in messages if m["method"] == "notifications/progress"]
        asked = {r["seq"] for r in requests if r["method"] == "tools/call"}
        must_be("progress of no call", [m for m in progress if (m["concerns"] or {}).get("seq") not in asked], [])
        must_be("progress", bool(progress), "progress" in self.answered)
        questions = {"sampling/createMessage": "sampling", "elicitation/create": "elicitation", "roots/list": "roots"}
        asked = sorted({questions[r["method"]] for r in requests if r["dir"] == "to_client"})
        must_be("questions in the recording", asked, [one for one in self.answered if one != "progress"])


def attempt(pair):
    began = time.monotonic()
    try:
        said_in, said_out, said_err = pair.run()
        took = time.monotonic() - began
        return f"ok    {pair.title}  {took:4.1f} s  {said_in} B in, {said_out} B out, {said_err} B stderr", True
    except (Wrong, subprocess.TimeoutExpired, OSError, ValueError, KeyError, TypeError) as error:
        return f"FAIL  {pair.title}  {type(error).__name__}: {error}", False


def main():
    work = os.path.realpath(tempfile.mkdtemp(prefix="mcp-tap-real-"))
    pairs = [Pair(work, *pair) for pair in PAIRS]
    results = []
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        for line, passed in pool.map(attempt, pairs):
            print(line, flush=True)
            results.append(passed)
    failed = results.count(False)
    if failed:
        print(f"what was seen is kept in {work}", file=sys.stderr)
    else:
        shutil.rmtree(work)
    print(f"{results.count(True)} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
