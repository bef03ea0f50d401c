# Finds what Curbcut's commands need and a machine without apt-get lacks, and says so in one sentence. Sourced by tools/setup.
# Works with Bash 3.2, which macOS has. OS_RELEASE and APPLICATIONS name other places than /etc/os-release and /Applications, for tests.

# As scanner-image/page/browser/chromium.ts looks for them; a test compares the two.
curbcut_browsers='chromium-headless-shell chrome-headless-shell chromium chromium-browser google-chrome google-chrome-stable'
curbcut_applications='Google Chrome.app/Contents/MacOS/Google Chrome
Chromium.app/Contents/MacOS/Chromium'

# What is needed: its name | commands, one of which is enough | its package for brew | for dnf | for apk
curbcut_build_needs='Node.js 24|node|node|nodejs npm|nodejs npm
npm|npm|node|npm|npm'
curbcut_needs="a browser (Chrome or Chromium)|$curbcut_browsers|google-chrome|chromium|chromium
nats-server|nats-server|nats-server|nats-server|nats-server"
curbcut_dev_needs='git|git|git|git|git
pdftoppm|pdftoppm|poppler|poppler-utils|poppler-utils
certutil|certutil|nss|nss-tools|nss-tools
kubectl|kubectl|kubernetes-cli|kubernetes-client|kubectl
Go|go|go|golang|go
Python 3|python3|python|python3|python3
zsh|zsh|zsh|zsh|zsh
fish|fish|fish|fish|fish'

# Whether a file is the snap of Chromium, which cannot read the profile that the scanner makes, or the script with which Ubuntu starts it.
is_snap() {
  local start=''
  IFS= read -r -d '' -n 4096 start <"$1" || true
  case "$1 $start" in */snap/bin/*' '* | *' #!'*/snap/bin/*) return 0 ;; esac
  return 1
}

# Whether there is a browser.
has_browser() {
  [ ! -x "${CHROMIUM_PATH:-}" ] || return 0
  local name file
  while IFS= read -r file; do
    if [ -n "$file" ] && ! is_snap "$file"; then return 0; fi
  done <<<"$(type -aP $curbcut_browsers || true)"
  while IFS= read -r name; do
    if [ -x "${APPLICATIONS:-/Applications}/$name" ]; then return 0; fi
  done <<<"$curbcut_applications"
  return 1
}

# Whether a need is met: by a command, by a variable that names another one, or by what tools/setup installs itself.
is_met() { # name commands
  local command
  case $1 in
    'Node.js 24')
      newer_node && return
      # npm's package of Node.js runs on Linux with glibc.
      [ "$(uname -s)" = Linux ] && ! grep -qs '^ID=alpine' "${OS_RELEASE:-/etc/os-release}" && type -P npm >/dev/null
      return
      ;;
    'a browser '*) has_browser; return ;;
    nats-server) [ -z "${NATS_URL:-}" ] || return 0 ;;
  esac
  for command in $2; do
    if type -P "$command" >/dev/null; then return 0; fi
  done
  return 1
}

# Alpine's packages have Node.js 24 since 3.23.
is_old_alpine() {
  local release=${OS_RELEASE:-/etc/os-release}
  grep -qs '^ID=alpine' "$release" && grep -qsE '^VERSION_ID="?3\.([0-9]|1[0-9]|2[0-2])([^0-9]|$)' "$release"
}

# Prints the sentence and fails if something is missing.
report_missing() { # --dev, --build or nothing
  local system install='' lacks='' packages='' last='' name commands brew dnf apk package
  if [ "$(uname -s)" = Darwin ]; then
    system=macOS install='brew install'
  else
    system=$(sed -n 's/^PRETTY_NAME="\{0,1\}\([^"]*\)"\{0,1\}$/\1/p' "${OS_RELEASE:-/etc/os-release}" 2>/dev/null || true)
    if type -P dnf >/dev/null; then install='dnf install'; elif type -P apk >/dev/null; then install='apk add'; fi
    [ -z "$install" ] || [ "$(id -u)" = 0 ] || install="sudo $install"
  fi
  while IFS='|' read -r name commands brew dnf apk; do
    [ -n "$name" ] || continue
    is_met "$name" "$commands" && continue
    if [ -n "$last" ]; then lacks="$lacks${lacks:+, }$last"; fi
    last=$name
    case $install in *brew*) package=$brew ;; *dnf*) package=$dnf ;; *) package=$apk ;; esac
    case " $packages " in *" $package "*) ;; *) packages="$packages${packages:+ }$package" ;; esac
  done <<NEEDS
$curbcut_build_needs
$([ "${1:-}" = --build ] || echo "$curbcut_needs")
$([ "${1:-}" != --dev ] || echo "$curbcut_dev_needs")
NEEDS
  [ -n "$last" ] || return 0
  local advice='install what is missing'
  [ -z "$install" ] || advice="run '$install $packages'"
  case "$lacks $last" in
    *'Node.js 24'*) if is_old_alpine; then advice='its packages have an older Node.js: use Alpine 3.23, or the image try (docs/install.md)'; fi ;;
  esac
  echo "setup: ${system:-this machine} lacks ${lacks:+$lacks and }$last; $advice, then run this again" >&2
  return 1
}
