#!/bin/bash
# Fuzzes everything that reads what a hook, or whoever sent it, has written. FUZZTIME is how long for each (default 1m).
set -euo pipefail
cd "$(dirname "$0")/.."
for pkg in ./core/hookhost ./core/grant ./hooks/sdk; do
  for target in $(go test -list '^Fuzz' "$pkg" | grep '^Fuzz' || true); do
    echo "== $pkg $target"
    go test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-1m}" -fuzzminimizetime 1x "$pkg"
  done
done
