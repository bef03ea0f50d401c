# Puts Node.js 24 first in PATH: the machine's own if it is new enough, else the one in tools/node. Adds the tools that
# tools/setup keeps in this folder, and lets Node.js keep compiled code here, which halves the start of programs. Sourced, not run.
curbcut_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
case "$(node --version 2>/dev/null)" in
  v2[4-9].* | v[3-9][0-9].*) ;;
  *)
    for curbcut_node in "$curbcut_root"/tools/node/node_modules/node-linux-*/bin; do
      if [ -x "$curbcut_node/node" ]; then PATH=$curbcut_node:$PATH; fi
    done
    ;;
esac
PATH=$PATH:$curbcut_root/.curbcut/bin
export PATH
export NODE_COMPILE_CACHE=${NODE_COMPILE_CACHE:-$curbcut_root/.curbcut/compiled}
