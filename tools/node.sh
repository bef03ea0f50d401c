# Puts Node.js 24 first in PATH: the machine's own where it is new enough, else the one in tools/node. Sourced, not run.
curbcut_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
case "$(node --version 2>/dev/null)" in
  v2[4-9].* | v[3-9][0-9].*) ;;
  *)
    for curbcut_node in "$curbcut_root"/tools/node/node_modules/node-linux-*/bin; do
      if [ -x "$curbcut_node/node" ]; then PATH=$curbcut_node:$PATH; fi
    done
    ;;
esac
export PATH
