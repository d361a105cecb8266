#!/bin/bash
# Measures bin/rigup in the lab (Debian 12, root) and prints one table. ROUNDS=n measures more often.
set -euo pipefail
cd "$(dirname "$0")/.."
go run -C test/lab . up
program=$(go run -C test/lab . info | sed -n 's/.*"lab": "\(.*\)".*/\1/p')
mkdir -p bin
[ -e bin/hooks/moorethreads.wasm ] || test/hooks.sh > /dev/null
go build -o bin/bench ./test/bench
exec "$program" exec -- "$PWD/bin/bench" -rounds "${ROUNDS:-3}"
