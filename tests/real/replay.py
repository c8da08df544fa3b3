#!/usr/bin/env python3
"""replay.py BINARY PEERS: replays what real clients said to real servers, and checks what is found to differ.

Each case records a client with a server, and then runs `mcp-tap replay` with the recorded session. Against the same
server nothing may differ, three times over; against a newer one, exactly the differences that are known must be reported.
The server's state (a folder, a file, a repository) is made anew before every run. PEERS is the folder that run.sh
fills.
"""
import concurrent.futures
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

import pairs
from pairs import CLIENTS, EVERYTHING, FILESYSTEM, LIMIT_S, PEERS, PY, SMALL, TAP, TIME, TS1, TS2, Wrong, must_be, npm

REPLAYS = 3
DATE = "2024-05-06T07:08:09+0000"
# Commits that the server makes have this date, too.
FIXED = [shutil.which("env"), f"GIT_AUTHOR_DATE={DATE}", f"GIT_COMMITTER_DATE={DATE}"]


def python(venv, program, *args):
    return [f"{PEERS}/{venv}/bin/{program}", *args]


# How the state of each server is made, in {root}.
FRESH_FOLDER = """
mkdir -p sub
printf 'one\\ntwo\\nthree\\n' >one.txt
printf 'fn main() {}\\n' >sub/main.rs
printf '# main\\n' >main.md
touch -d '2024-05-06 07:08:09 UTC' one.txt sub/main.rs main.md sub
"""
FRESH_REPOSITORY = f"""
export GIT_AUTHOR_DATE='{DATE}' GIT_COMMITTER_DATE='{DATE}' GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
git init -q -b main repo
cd repo
git config user.name 'A. Author'
git config user.email author@example.com
printf 'first\\n' >a.txt
git add a.txt
git commit -q -m 'First'
printf 'second\\n' >b.txt
git add b.txt
git commit -q -m 'Second'
git branch side HEAD~1
printf 'changed\\n' >>a.txt
printf 'new\\n' >new.txt
"""

FILES = FILESYSTEM + [
    {"call": "create_directory", "with": {"path": "{root}/made"}},
    {"call": "directory_tree", "with": {"path": "{root}"}},
    {"call": "search_files", "with": {"path": "{root}", "pattern": "main"}},
    {"call": "search_files", "with": {"path": "{root}", "pattern": "**/*.rs"}},
    {"call": "read_text_file", "with": {"path": "{root}/one.txt", "head": 1}},
    {"call": "read_multiple_files", "with": {"paths": ["{root}/one.txt", "{root}/nowhere.txt"]}},
    {"call": "edit_file", "with": {"path": "{root}/one.txt", "edits": [{"oldText": "two", "newText": "2"}]}},
    {"call": "list_directory_with_sizes", "with": {"path": "{root}/sub"}},
    {"call": "get_file_info", "with": {"path": "{root}/sub/main.rs"}},
]
FILES = [step for step in FILES if "big.txt" not in json.dumps(step)]
ANNA = {"name": "Anna", "entityType": "person", "observations": ["tunes taps"]}
TAP_ENTITY = {"name": "tap", "entityType": "tool", "observations": [SMALL]}
MEMORY = [
    {"list": "tools"}, {"list": "resources"},
    {"call": "read_graph"},
    {"call": "create_entities", "with": {"entities": [ANNA, TAP_ENTITY]}},
    {"call": "create_relations", "with": {"relations": [{"from": "Anna", "to": "tap", "relationType": "holds"}]}},
    {"call": "add_observations", "with": {"observations": [{"entityName": "Anna", "contents": ["is early"]}]}},
    {"call": "add_observations", "with": {"observations": [{"entityName": "Nobody", "contents": ["x"]}]},
     "is": "tool_error"},
    {"call": "search_nodes", "with": {"query": "taps"}},
    {"call": "open_nodes", "with": {"names": ["tap"]}},
    {"read": "memory://knowledge-graph"},
    {"call": "delete_observations", "with": {"deletions": [{"entityName": "Anna", "observations": ["is early"]}]}},
    {"call": "delete_entities", "with": {"entityNames": ["tap"]}},
    {"call": "read_graph"},
]
REPO = {"repo_path": "{root}/repo"}
GIT = [
    {"list": "tools"},
    {"call": "git_status", "with": REPO},
    {"call": "git_diff_unstaged", "with": REPO},
    {"call": "git_log", "with": {**REPO, "max_count": 2}},
    {"call": "git_show", "with": {**REPO, "revision": "HEAD"}},
    {"call": "git_add", "with": {**REPO, "files": ["new.txt"]}},
    {"call": "git_diff_staged", "with": REPO},
    {"call": "git_commit", "with": {**REPO, "message": "Third"}},
    {"call": "git_log", "with": {**REPO, "max_count": 1}},
    {"call": "git_create_branch", "with": {**REPO, "branch_name": "topic"}},
    {"call": "git_branch", "with": {**REPO, "branch_type": "local"}},
    {"call": "git_diff", "with": {**REPO, "target": "side"}},
    {"call": "git_checkout", "with": {**REPO, "branch_name": "nope"}, "is": "tool_error"},
    {"call": "git_status", "with": {}, "is": "tool_error"},
    {"call": "git_reset", "with": REPO},
]
OUTSIDE = {"call": "git_status", "with": {"repo_path": "{root}"}, "is": "tool_error"}
WRITES_A_FILE = {"call": "git_diff", "with": {**REPO, "target": "--output={root}/repo/leak"}}

EVERYTHING_2026 = npm("everything", "2026.8.31")
FILES_2025, FILES_2026 = (npm("filesystem", version, "{root}") for version in ("2025.8.21", "2026.8.31"))
MEMORY_2026 = [FIXED[0], "MEMORY_FILE_PATH={root}/memory.jsonl", *npm("memory", "2026.8.31")]
GIT_2025, GIT_2026 = ([*FIXED, *python(venv, "mcp-server-git", "--repository", "{root}/repo")]
                      for venv in ("python-2025", "python-git"))
TIME_2025, TIME_2026 = (python(venv, "mcp-server-time", "--local-timezone", "UTC")
                        for venv in ("python-2025", "python"))

# Title, client, its mode, how the state is made, what is asked, the server.
SAME = [
    ("everything 2026.8.31", TS1, "legacy", "", EVERYTHING, EVERYTHING_2026),
    ("everything 2026.8.31", PY, "legacy", "", EVERYTHING, EVERYTHING_2026),
    ("filesystem 2026.8.31", TS1, "legacy", FRESH_FOLDER, FILES, FILES_2026),
    ("filesystem 2026.8.31", PY, "auto", FRESH_FOLDER, FILES, FILES_2026),
    ("memory 2026.8.31", TS2, "legacy", "", MEMORY, MEMORY_2026),
    ("memory 2026.8.31", PY, "legacy", "", MEMORY, MEMORY_2026),
    ("time 2026.10.19", TS1, "legacy", "", TIME, TIME_2026),
    ("time 2026.10.19", TS2, "auto", "", TIME, TIME_2026),
    ("time 2026.10.19", PY, "2026-07-28", "", TIME, TIME_2026),
    ("git 2026.10.19", TS1, "legacy", FRESH_REPOSITORY, [*GIT, {**WRITES_A_FILE, "is": "tool_error"}], GIT_2026),
    ("git 2026.10.19", PY, "auto", FRESH_REPOSITORY, [*GIT, OUTSIDE], GIT_2026),
    ("git 2025.7.1", PY, "legacy", FRESH_REPOSITORY, [*GIT, WRITES_A_FILE], GIT_2025),
]

# What the old server is asked, and how that one answers.
GIT_OF_2025 = [*GIT, OUTSIDE, WRITES_A_FILE, {"call": "no_such_tool", "is": "tool_error"}]
TIME_OF_2025 = [*TIME[:-1], {"call": "no_such_tool", "is": "tool_error"}]


def of_tools(names, *what):
    return [(name, pointer, kind) for name in names for pointer, kind in what]


def no_property_is_refused(name):
    return name, "/inputSchema/additionalProperties", "removed"


# All differences that are known: the tool, the pointer (and where in the JSON of a text), the kind.
READERS = ["read_file", "read_text_file", "read_media_file", "read_multiple_files", "list_directory",
           "list_directory_with_sizes", "directory_tree", "search_files", "get_file_info"]
WRITERS = ["write_file", "edit_file", "create_directory", "move_file"]
FILES_CHANGED = [
    *of_tools([*READERS, *WRITERS, "list_allowed_directories"], ("/title", "added"), ("/annotations", "added"),
              ("/execution", "added"), ("/outputSchema", "added")),
    *of_tools(["read_media_file", "search_files"], ("/description", "text")),
    ("directory_tree", "/inputSchema/properties/excludePatterns", "added"),
    ("read_multiple_files", "/inputSchema/properties/paths/minItems", "added"),
    ("read_multiple_files", "/inputSchema/properties/paths/description", "added"),
    ("", "/tools/listChanged", "added"),
    *of_tools({step["call"] for step in FILES if "call" in step}, ("/structuredContent", "added")),
    ("read_file", "/content/0/text", "text"),
    ("search_files", "/content/0/text", "text"),
    *map(no_property_is_refused, [*READERS, *WRITERS]),
    ("edit_file", "/inputSchema/properties/edits/items/additionalProperties", "removed"),
    ("list_allowed_directories", "/inputSchema/required", "removed"),
    ("list_allowed_directories", "/inputSchema/$schema", "added"),
    ("", "/protocolVersion", "changed"),
]
GIT_TOOLS = ["git_status", "git_diff_unstaged", "git_diff_staged", "git_diff", "git_commit", "git_add", "git_reset",
             "git_log", "git_create_branch", "git_checkout", "git_show", "git_branch"]
PYTHON_CHANGED = [
    ("", "/experimental", "removed"), ("", "/prompts", "added"), ("", "/resources", "added"),
    ("", "/protocolVersion", "changed"), ("", "/serverInfo/version", "changed"),
    ("no_such_tool", "", "outcome"),
]
GIT_CHANGED = [
    ("git_init", "", "removed"),
    ("git_log", "/inputSchema/properties/start_timestamp", "added"),
    ("git_log", "/inputSchema/properties/end_timestamp", "added"),
    ("git_add", "/inputSchema/properties/files/minItems", "added"),
    ("git_show", "/description", "text"),
    *of_tools(GIT_TOOLS, ("/annotations", "added"), ("/inputSchema/title", "changed")),
    *of_tools(["git_log", "git_show", "git_checkout", "git_status", "git_diff"], ("/content/0/text", "text")),
    ("git_diff", "", "outcome"),
    *PYTHON_CHANGED,
]
TIME_CHANGED = [
    *of_tools(["get_current_time", "convert_time"], ("/annotations", "added"), ("/outputSchema", "added"),
              ("/inputSchema/title", "added"), ("/structuredContent", "added")),
    ("get_current_time", "/description", "text"),
    ("get_current_time", "/inputSchema/properties/timezone/title", "added"),
    *of_tools(["convert_time"], *((f"/inputSchema/properties/{name}/title", "added")
                                  for name in ("source_timezone", "target_timezone", "time"))),
    ("get_current_time", "/content/0/text /day_of_week", "added"),
    ("convert_time", "/content/0/text /source/day_of_week", "added"),
    ("convert_time", "/content/0/text /target/day_of_week", "added"),
    ("get_current_time", "/content/0/text", "text"),
    *PYTHON_CHANGED,
]
CHANGED = [
    ("filesystem 2025.8.21 to 2026.8.31", TS1, "legacy", FRESH_FOLDER, FILES, FILES_2025, FILES_2026, FILES_CHANGED),
    ("git 2025.7.1 to 2026.10.19", PY, "legacy", FRESH_REPOSITORY, GIT_OF_2025, GIT_2025, GIT_2026, GIT_CHANGED),
    ("time 2025.8.4 to 2026.10.19", PY, "legacy", "", TIME_OF_2025, TIME_2025, TIME_2026, TIME_CHANGED),
]


class Case:
    """One client, one server that it is recorded with, and one that the recording is replayed against."""

    def __init__(self, work, title, client, mode, fresh, steps, recorded, replayed=None, known=None):
        self.client, self.mode, self.fresh, self.steps = client, mode, fresh, steps
        self.recorded, self.replayed, self.known = recorded, replayed or recorded, known
        self.title = f"{title:36} {client:17} {mode:10}"
        self.work = os.path.join(work, "-".join(self.title.split()))
        self.root = f"{self.work}/root"
        self.store = f"{self.work}/store.db"

    def in_root(self, value):
        return json.loads(json.dumps(value).replace("{root}", self.root))

    def environment(self):
        return {"HOME": self.work, "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TZ": "UTC"}

    def start(self, command, status):
        done = subprocess.run(command, env=self.environment(), capture_output=True, timeout=LIMIT_S)
        if done.returncode not in status:
            raise Wrong(f"{command[0]} {command[1]} ended with {done.returncode}: {done.stderr.decode()[-2000:]}")
        return done

    def record(self):
        """Has the client talk to the server behind the tap; returns how the state is made, and what the client said."""
        os.makedirs(self.work)
        reset = f"{self.work}/reset.sh"
        with open(reset, "w", encoding="utf-8") as script:
            root = shlex.quote(self.root)
            script.write(f"set -e\nrm -rf {root}\nmkdir -p {root}\ncd {root}\n{self.fresh}")
        self.start(["sh", reset], [0])
        steps = json.dumps(self.in_root(self.steps))
        tap = [TAP, "record", "--store", self.store, "--name", "case", "--", *self.in_root(self.recorded)]
        said = json.loads(self.start([*CLIENTS[self.client], self.mode, steps, self.root, "--", *tap], [0]).stdout)
        expected = [step.get("is", "ok") for step in pairs.flat(self.steps, lambda step: step.get("together"))]
        must_be("outcomes at the client", list(pairs.flat(said["outcomes"])), expected)
        self.wait_for_the_end()
        return reset, said

    def run(self):
        reset, _ = self.record()
        counts = set()
        for _ in range(REPLAYS):
            replay = [TAP, "replay", "--store", self.store, "case", "--json", "--destructive",
                      "--before", f"sh {shlex.quote(reset)}", "--", *self.in_root(self.replayed)]
            done = self.start(replay, [0, 1])
            report = json.loads(done.stdout)
            with open(f"{self.work}/report.json", "wb") as kept:
                kept.write(done.stdout)
            self.check(done.returncode, report)
            counts.add((report["diff"]["same"], report["diff"]["changed"]))
        return counts

    def wait_for_the_end(self):
        until = time.monotonic() + 15
        while time.monotonic() < until:
            listed = json.loads(self.start([TAP, "sessions", "--store", self.store, "--all", "--json"], [0]).stdout)
            if not any(session["live"] for session in listed["sessions"]):
                return
            time.sleep(0.05)
        raise Wrong("the server runs on after its client has ended")

    def check(self, status, report):
        met = {key: report["replay"][key] for key in ("timed_out", "unanswerable", "not_judged", "stopped")}
        must_be("met", met, {"timed_out": [], "unanswerable": [], "not_judged": 0, "stopped": None})
        diff = report["diff"]
        if self.known is None:
            must_be("changes", [change for change in diff["changes"] if change["level"] != "soft"], [])
            must_be("exchanges", diff["exchanges"][1], diff["exchanges"][0])
            must_be("exit status, and what is said of it", [status, report["failed"], diff["equal"]], [0, False, True])
            must_be("not sent", report["replay"]["not_sent"], [])
            return
        found = {named(change) for change in diff["changes"] if change["level"] != "soft"}
        must_be("differences that are not reported", sorted(set(self.known) - found), [])
        must_be("differences that are not known", sorted(found - set(self.known)), [])
        must_be("exit status, and what is said of it", [status, report["failed"], diff["equal"]], [1, True, False])
        must_be("left out", diff["left_out"], 0)


def named(change):
    """Returns what a change is of, where it is and of which kind."""
    of = (change.get("item") or change.get("exchange") or {}).get("name") or ""
    return of, " ".join(filter(None, [change["pointer"], change.get("inside")])), change["kind"]


def attempt(case):
    """Runs a case; returns the line for it, and whether it passed."""
    began = time.monotonic()
    try:
        counts = case.run()
        took = time.monotonic() - began
        if isinstance(counts, set):
            counts = ", ".join(f"{same} same, {changed} changed" for same, changed in sorted(counts))
        return f"ok    {case.title}  {took:4.1f} s  {counts}", True
    except (Wrong, subprocess.TimeoutExpired, OSError, ValueError, KeyError, TypeError) as error:
        return f"FAIL  {case.title}  {type(error).__name__}: {error}", False


def main(kind, all_cases, prefix):
    work = os.path.realpath(tempfile.mkdtemp(prefix=prefix))
    cases = [kind(work, *case) for case in all_cases]
    results = []
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        for line, passed in pool.map(attempt, cases):
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
    sys.exit(main(Case, SAME + CHANGED, "mcp-tap-replay-"))
