#!/usr/bin/env bash
# The step of the action (action.yml): scans, writes outputs, summary, annotations and the comment, and exits as the scan does:
# 0 passed, 1 did not pass, 2 no verdict.
set -euo pipefail

folder=$RUNNER_TEMP/curbcut
mkdir -p "$folder"
# Of an earlier step of the same job.
rm -f "$folder"/report.* "$folder/result.json"

# Only the comment needs the token, and not the scan, whose browser opens the site.
token=${GITHUB_TOKEN:-}
unset GITHUB_TOKEN

if [ -n "$INPUT_IMAGE" ]; then
  # The workspace, the folder of this step and the event of the job are at the same paths as outside. The other files of the runner, by
  # which later steps get variables, are not there. The network is that of the runner, so that a site which the job serves can be
  # scanned. The variables of GitHub say where to comment, and what the scan belongs to.
  options=(--volume "$GITHUB_WORKSPACE:$GITHUB_WORKSPACE" --volume "$folder:$folder" --workdir "$PWD")
  [ ! -f "${GITHUB_EVENT_PATH:-}" ] || options+=(--volume "$GITHUB_EVENT_PATH:$GITHUB_EVENT_PATH:ro")
  for name in CI CURBCUT_URL CURBCUT_API_KEY ALLOW_TARGETS GITHUB_TOKEN $(compgen -e GITHUB_ || true); do options+=(--env "$name"); done
  curbcut() { docker run --rm --init --network host --user "$(id -u):$(id -g)" "${options[@]}" "$INPUT_IMAGE" curbcut "$@"; }
elif ! type -P curbcut >/dev/null; then
  echo '::error title=Curbcut::Set the input image to the scanner image of Curbcut, or install curbcut on the runner.'
  exit 2
fi

scan=(scan "$INPUT_URL" --json --export "$folder/report.json" --sarif "$folder/report.sarif" --pdf "$folder/report.pdf")
[ "$INPUT_LOCAL" != true ] || scan+=(--local)
[ -z "$INPUT_BASELINE" ] || scan+=(--baseline "$INPUT_BASELINE")
[ -z "$INPUT_MAX_NEW_VIOLATIONS" ] || scan+=(--max-new-violations "$INPUT_MAX_NEW_VIOLATIONS")
[ -z "$INPUT_MIN_SCORE" ] || scan+=(--min-score "$INPUT_MIN_SCORE")
set -f # words of args are no patterns
# shellcheck disable=SC2206
scan+=($INPUT_ARGS)
set +f

code=0
curbcut "${scan[@]}" >"$folder/result.json" || code=$?
# Docker has codes of its own, such as 125 for an image that it cannot load.
[ "$code" -le 2 ] || code=2
cat "$folder/result.json"

# A field of the result, which has one field per line. Texts in it have no line breaks.
field() { sed -n "s/^  \"$1\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" "$folder/result.json"; }
{
  echo "scan-id=$(field scan_id)"
  echo "passed=$(field passed)"
  echo "score=$(field score)"
} >>"$GITHUB_OUTPUT"

if [ ! -f "$folder/report.json" ]; then
  echo '::error title=Curbcut::There is no report of the scan. The log of this step says why.'
  exit "$code"
fi
for kind in json sarif pdf; do
  name=${kind/json/report}
  [ ! -f "$folder/report.$kind" ] || echo "$name=$folder/report.$kind" >>"$GITHUB_OUTPUT"
done

about=("$folder/report.json")
[ -z "$INPUT_NAME" ] || about+=(--name "$INPUT_NAME")
# A report without a service is among the files of the job.
{ [ -n "${CURBCUT_URL:-}" ] && [ "$INPUT_LOCAL" != true ]; } || about+=(--link "$GITHUB_SERVER_URL/$GITHUB_REPOSITORY/actions/runs/$GITHUB_RUN_ID")
# A failure from here on, such as a missing permission, must not hide the verdict.
curbcut comment "${about[@]}" >>"$GITHUB_STEP_SUMMARY" ||
  echo '::warning title=Curbcut::The summary was not written. The log of this step says why.'
if [ "$code" != 0 ]; then
  curbcut comment "${about[@]}" --annotations ||
    echo '::warning title=Curbcut::There are no annotations. The log of this step says why.'
fi
if [ "$INPUT_COMMENT" = true ]; then
  GITHUB_TOKEN=$token curbcut comment "${about[@]}" --github ||
    echo '::warning title=Curbcut::The comment on the pull request was not written. The log of this step says why; the summary of the job has the text.'
fi
exit "$code"
