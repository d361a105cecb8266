#!/bin/bash
# demo.sh up|down: installs a cluster named demo with bin/rigup, on the Docker engine of this machine; where
# there is none, on the lab's (Debian 12, root).
set -euo pipefail
cd "$(dirname "$0")/.."
rigup=$PWD/bin/rigup
lab() { go run -C test/lab . "$@"; }

prefix=""
if ! docker version >/dev/null 2>&1; then
  if ! why=$(lab doctor 2>&1); then
    echo "No Docker engine answers here, and the lab cannot bring one up: $why"
    echo "Install and start Docker, then run make demo again."
    exit 1
  fi
  [ "$1" = down ] || lab up
  program=$(lab info | sed -n 's/.*"lab": "\(.*\)".*/\1/p')
  # The lab's engine has a network of its own, so everything that talks to the cluster runs inside it.
  prefix="$program exec -- "
fi

case ${1:-} in
up)
  echo "+ ${prefix}$rigup install --cluster demo"
  ${prefix}"$rigup" install --cluster demo
  cat <<TEXT

Try next:
  ${prefix}$rigup status --cluster demo
  ${prefix}kubectl --context rigup-demo get pods --all-namespaces
  ${prefix}$rigup install --cluster demo        # nothing to do
  make demo-down
TEXT
  ;;
down)
  ${prefix}"$rigup" uninstall --cluster demo --delete-data --yes
  [ -z "$prefix" ] || echo "The lab's engine is still up: make lab-down removes it."
  ;;
esac
