#!/bin/bash
# run.sh [e2e]: every test; with e2e, the end-to-end tests alone. RUN=regexp chooses among those, ENGINES="20 29" the engines.
#
# Outside CI, a machine that cannot run the lab (not Debian, not root) runs the rest and is told why. In CI
# that is a failure: nothing may be skipped there.
set -euo pipefail
cd "$(dirname "$0")/.."
engines=${ENGINES:-20 29}
say() { printf '\n== %s\n' "$*"; }

if [ "${1:-}" != e2e ]; then
  say "unit and golden tests"
  go test ./...
  say "the lab's own tests"
  go test -C test/lab ./...
fi
if [ "${1:-}" != e2e ] || [ ! -e bin/hooks/moorethreads.wasm ]; then
  say "hooks in four languages"
  test/hooks.sh
fi
if [ "${1:-}" != e2e ]; then
  say "the host of the hooks on Windows, under Wine"
  test/wine.sh
fi

say "end to end"
lab() { go run -C test/lab . "$@"; }
if ! why=$(lab doctor 2>&1); then
  echo "skipped: this machine cannot run the lab: $why"
  [ "${CI:-}" = true ] && exit 1
  exit 0
fi
lab up --engine "${engines// /,}"
mkdir -p bin
go test -c -o bin/e2e.test ./test/e2e
# Tests run in the engine's network; this shell's is the one outside of it.
export RIGUP_BIN=$PWD/bin/rigup RIGUP_TREE=$PWD RIGUP_LAB_OUTSIDE=/proc/$$/ns/net
program=$(lab info --engine "${engines%% *}" | sed -n 's/.*"lab": "\(.*\)".*/\1/p')
GOBIN=$PWD/bin go install "gotest.tools/gotestsum@$GOTESTSUM"
# inside ENGINE CMD...: in the engine's network. tests ENGINE BINARY ARGS...: the same for a test binary, with a
# line as each test ends; what a test says is shown if it fails.
tests() {
  bin/gotestsum --format "${FORMAT:-testname}" --raw-command -- \
    "$program" exec --engine "$1" --dir "$PWD/test/e2e" -- go tool test2json -t -p "$(basename "$2")" "$2" -test.v=test2json "${@:3}"
}
inside() { "$program" exec --engine "$1" --dir "$PWD/test/e2e" -- "${@:2}"; }
for e in $engines; do
  export RIGUP_LAB_INFO=$PWD/bin/lab-$e.json
  lab info --engine "$e" > "$RIGUP_LAB_INFO"
  if [ "$e" = "${engines%% *}" ]; then
    run=${RUN:-.}
  else
    # Everything runs on the first engine; on the others what depends on the engine.
    run=${RUN:-Lifecycle|PrivateRegistry|BringYourOwnChart|NotOurs|Restart}
  fi
  say "the program, on engine $e"
  tests "$e" "$PWD/bin/e2e.test" -test.run "$run" -test.timeout 60m
done
[ -z "${RUN:-}" ] || exit 0

e=${engines%% *}
say "packages on their own, on engine $e"
go test -c -tags lab -o bin/cluster.test ./core/cluster
go test -c -o bin/release.test ./core/release
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
export RIGUP_ROOT=$PWD RIGUP_STATIC=$RIGUP_BIN RIGUP_LAB_REGISTRY
RIGUP_LAB_REGISTRY=$(sed -n 's/.*"address": "\(.*:5000\)".*/\1/p' "bin/lab-$e.json")
tests "$e" "$PWD/bin/cluster.test" -test.run Lab -test.timeout 15m
inside "$e" env HOME="$home" "$RIGUP_BIN" install --cluster live > /dev/null
RIGUP_TEST_KUBECONFIG=$home/.kube/config tests "$e" "$PWD/bin/release.test" -test.run Live
inside "$e" env HOME="$home" "$RIGUP_BIN" uninstall --cluster live --delete-data --yes > /dev/null
