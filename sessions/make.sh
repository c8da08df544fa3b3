#!/usr/bin/env bash
# Makes the recordings of this folder anew with the tool itself, from the sample server: make.sh MCP_TAP
# Takes two minutes: the story is played in its own time. Runs in an empty environment, so that no path of the
# machine gets into a file; needs to be allowed to write /usr/local/bin/mcp-tap.
set -euo pipefail
tap=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work" /usr/local/bin/mcp-tap' EXIT
cp "$tap" /usr/local/bin/mcp-tap
clean() { (cd / && env -i HOME="$work" PATH=/usr/local/bin:/usr/bin:/bin "$@"); }
keep() { clean mcp-tap export --store "$work/$1.db" "$1" >"$here/$1.jsonl"; }

# The story of the sketches in its own time, in the handshake era and in the stateless one.
story() { # NAME SESSION-NAME ARGS…
  clean mcp-tap demo --speed 1 --frame-bytes 300 --store "$work/$1.db" "${@:3}" >/dev/null
  clean mcp-tap sessions --store "$work/$1.db" rename weather "$2" 2>/dev/null
  clean mcp-tap export --store "$work/$1.db" "$2" >"$here/$1.jsonl"
}
story weather weather &
story modern modern --modern &
story weather-next weather-next --build 1.5.0 &

# The others: NAME, arguments of the sample server, then what the client says, one line each; `sleep` is obeyed.
session() {
  local name=$1 server=$2
  (
    while IFS= read -r line; do
      case $line in sleep*) $line ;; *) printf '%s\n' "$line"; sleep 0.05 ;; esac
    done
    sleep 0.2
  ) | clean mcp-tap record --name "$name" --store "$work/$name.db" -- mcp-tap sample-server --speed 20 $server >/dev/null 2>&1 || true
  keep "$name"
}
hello() { # REVISION [CAPABILITIES]
  printf '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"%s","capabilities":%s,"clientInfo":{"name":"tester","version":"1.0"}}}\n' "$1" "${2:-"{}"}"
  echo 'sleep 0.1'
  echo '{"jsonrpc":"2.0","method":"notifications/initialized"}'
}
call() { # ID TOOL ARGUMENTS [META]
  printf '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"%s","arguments":%s%s}}\n' "$1" "$2" "$3" "${4:+,\"_meta\":$4}"
}
ask() { printf '{"jsonrpc":"2.0","id":%s,"method":"%s","params":%s}\n' "$1" "$2" "$3"; }

for revision in 2024-11-05 2025-03-26 2025-06-18 2025-11-25; do
  { hello "$revision"; ask 1 tools/list '{}'; call 2 get_forecast '{"city":"Oslo","days":7}'; ask 3 resources/read '{"uri":"weather://stations"}'; } |
    session "revision-$revision" ''
done
{ hello 2025-11-25; ask 1 tools/list '{}'; call 2 get_forecast '{"city":"Atlantis","days":7}'; call 3 no_such_tool '{}'; call 4 fail '{}'; ask 5 no/such/method '{}'; } |
  session errors --extra-tools
{ hello 2025-03-26; echo '[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get_alerts","arguments":{"region":"NO-46"}}},{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}]'; } |
  session batch ''
{ hello 2025-11-25 '{"roots":{},"sampling":{},"elicitation":{}}'; call 1 ask '{}'; echo 'sleep 0.2'
  echo '{"jsonrpc":"2.0","id":1,"result":{"roots":[{"uri":"file:///home/ana","name":"home"}]}}'; echo 'sleep 0.2'
  echo '{"jsonrpc":"2.0","id":2,"result":{"role":"assistant","model":"m-1","content":{"type":"text","text":"blue"}}}'; echo 'sleep 0.2'
  call 2 plan_trip '{"from":"Bergen","to":"Oslo","days":2}'; echo 'sleep 0.5'
  echo '{"jsonrpc":"2.0","id":3,"result":{"action":"accept","content":{"day":"2026-12-04"}}}'; echo 'sleep 0.5'; } |
  session questions --extra-tools
{ hello 2025-11-25 '{"tasks":{}}'; printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_radar","arguments":{"area":"NO-46","frames":2},"task":{"ttl":60000}}}'; echo 'sleep 4'; ask 2 tasks/list '{}'; } |
  session tasks --extra-tools
{ hello 2025-11-25; call 1 progress '{"steps":3}' '{"progressToken":"p-1"}'; echo 'sleep 0.5'; call 2 sleep '{"ms":800}' '{"progressToken":"p-2"}'; echo '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"not needed any more"}}'; ask 3 ping '{}'; } |
  session progress --extra-tools
{ hello 2025-11-25; call 1 get_forecast '{"city":"Bergen","days":7}'; echo 'sleep 0.3'; call 2 get_alerts '{"region":"NO-46"}'; } |
  session noise '--case noise'
{ hello 2025-11-25; call 1 get_alerts '{"region":"NO-46"}'; } |
  session crash '--case crash-mid-call'
wait
