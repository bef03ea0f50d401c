# Starts a program of bin/ with Node.js 24: the machine's own if it is new enough, else the one in tools/node.
# Sourced with the arguments PROGRAM MODULE ARGUMENT…
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/tools/node.sh"
if ! command -v node >/dev/null; then
  echo "$1: Node.js 24 or later is required, and there is no node in PATH." >&2
  exit 2
fi
exec node "$root/cli/start.cjs" "$@"
