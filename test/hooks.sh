#!/bin/bash
# hooks.sh: builds every template and example of a hook with the compilers that vendors use, and tests them with the
# program as it was built. Leaves the examples, packed and signed, in bin/hooks.
#
# On Debian as root, missing compilers are installed. Elsewhere a language without its compiler is skipped, and is told
# why. In CI that is a failure: nothing may be skipped there.
set -euo pipefail
cd "$(dirname "$0")/.."
tree=$PWD
rigup=${RIGUP_BIN:-$tree/bin/rigup}
say() { printf '\n== %s\n' "$*"; }
die() { echo "hooks.sh: $*" >&2; exit 1; }
[ -x "$rigup" ] || die "there is no $rigup: make build"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export RIGUP_HOME=$work/home XDG_CONFIG_HOME=$work/config

# ---- compilers ----

# rust_with_wasi prints a rustc that has a standard library for WASI: that of rustup often has none, Debian's may.
rust_with_wasi() {
  local r
  for r in rustc /usr/bin/rustc; do
    if command -v "$r" > /dev/null && compgen -G "$("$r" --print sysroot)/lib/rustlib/wasm32-wasi*/lib/libstd*" > /dev/null; then
      echo "$r"
      return
    fi
  done
  return 1
}
c_with_wasi() {
  command -v clang > /dev/null || return 1
  echo 'int main(void) { return 0; }' > "$work/probe.c"
  clang --target=wasm32-wasi -o "$work/probe.wasm" "$work/probe.c" 2> /dev/null
}
install() {
  [ "$(id -u)" = 0 ] && grep -qs '^ID=debian' /etc/os-release || return 0
  say "installing $*"
  if ! apt-get install -y -qq --no-install-recommends "$@" > "$work/apt.log" 2>&1; then
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"; } >> "$work/apt.log" 2>&1 ||
      { tail -n 20 "$work/apt.log"; die "apt-get cannot install $*"; }
  fi
}
command -v make > /dev/null || install make
c_with_wasi || install clang lld wasi-libc libclang-rt-14-dev-wasm32
rust_with_wasi > /dev/null || install rustc libstd-rust-dev-wasm32
command -v npm > /dev/null || install npm

can=(go)
cannot() { # cannot LANGUAGE WHY
  echo "skipped: $1: $2"
  if [ "${CI:-}" = true ]; then die "nothing may be skipped in CI"; fi
}
if c_with_wasi; then can+=(c); else cannot c "no clang that builds for wasm32-wasi"; fi
if RUSTC=$(rust_with_wasi); then export RUSTC; can+=(rust); else cannot rust "no rustc with a standard library for WASI"; fi
if command -v npm > /dev/null; then can+=(assemblyscript); else cannot assemblyscript "no npm"; fi
has() { [[ " ${can[*]} " == *" $1 "* ]]; }

# ---- the same under another runtime ----

# A hook is a WASI program like any other: Node runs it, and it answers the same. (Node 18 wants a flag for that, which
# later versions take and ignore.)
cat > "$work/run.mjs" <<'JS'
import { readFileSync, openSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { WASI } from "node:wasi";
const [wasm, request, out, expected] = process.argv.slice(2);
const wasi = new WASI({ version: "preview1", returnOnExit: true, stdin: openSync(request), stdout: openSync(out, "w"), stderr: openSync("/dev/null", "w") });
const { instance } = await WebAssembly.instantiate(readFileSync(wasm), { wasi_snapshot_preview1: wasi.wasiImport });
const code = wasi.start(instance);
const got = JSON.parse(readFileSync(out));
const want = JSON.parse(readFileSync(expected)).answers[0].response;
if (code || !isDeepStrictEqual(got, want)) {
  console.error("exit", code, JSON.stringify(got), "instead of", JSON.stringify(want));
  process.exit(1);
}
JS
elsewhere() { # elsewhere MODULE CASE
  command -v node > /dev/null || { cannot "Node's WASI" "no node"; return; }
  node --no-warnings --experimental-wasi-unstable-preview1 "$work/run.mjs" "$1" "$2.json" "$work/out.json" "$2.expected.json" || die "$1 answers otherwise under Node"
}

# ---- templates ----

built() { # built DIR MODULE: with make, quietly unless it fails
  make -C "$1" RIGUP="$rigup" > "$work/make.log" 2>&1 || { cat "$work/make.log"; die "$2 does not build"; }
}
export RIGUP_MINISIGN_PASSWORD=
"$rigup" hooks keygen "$work/vendor.key" < /dev/null > /dev/null
for lang in "${can[@]}"; do
  say "template in $lang"
  dir=$work/$lang
  "$rigup" hooks init --lang "$lang" --pci 0x1ace --device '/dev/acme-gpu.*' --resource acme.example/gpu --publisher "Acme Inc." --dir "$dir" acme > /dev/null
  built "$dir" "the template in $lang"
  "$rigup" hooks test "$dir/acme.wasm" --facts "$dir/cases"
  "$rigup" hooks pack "$dir/acme.wasm" --key "$work/vendor.key"
  elsewhere "$dir/acme.wasm" "$dir/cases/diagnose-denied"
done

# ---- examples ----

rm -rf bin/hooks
mkdir -p bin/hooks
example() { # example NAME LANGUAGE
  has "$2" || { echo "skipped: the example $1 is in $2"; return; }
  say "example $1, in $2"
  mkdir -p "$work/examples"
  git ls-files -z --cached --others --exclude-standard -- "hooks/examples/$1" | xargs -0 cp -L --parents -t "$work/examples"
  local dir=$work/examples/hooks/examples/$1
  built "$dir" "the example $1"
  "$rigup" hooks test "$dir/$1.wasm" --facts "$dir/cases"
  "$rigup" hooks pack "$dir/$1.wasm" --key "$work/vendor.key" -o "bin/hooks/$1.wasm"
}
example moorethreads rust
example ascend assemblyscript

# ---- dropped into the folder of an unchanged program ----

if [ -f bin/hooks/moorethreads.wasm ]; then
  say "dropped into the folder"
  state() { "$rigup" hooks list | grep -A1 "$1" || die "hooks list does not show $1"; }
  expect() { # expect TEXT OF
    [[ "$2" == *"$1"* ]] || die "no \"$1\" in: $2"
  }
  mkdir -p -m 700 "$RIGUP_HOME" "$RIGUP_HOME/hooks"
  cp bin/hooks/moorethreads.wasm* "$RIGUP_HOME/hooks"
  expect "waits for approval" "$(state moorethreads)"
  if "$rigup" hooks approve moorethreads --accept "sha256:$(printf '%064d' 0)" > /dev/null 2>&1; then die "another digest was accepted"; fi
  "$rigup" hooks approve moorethreads --accept "sha256:$(sha256sum bin/hooks/moorethreads.wasm | cut -d' ' -f1)" --key bin/hooks/moorethreads.wasm.pub
  expect "approved" "$(state moorethreads)"
  printf '\0\2\1x' >> "$RIGUP_HOME/hooks/moorethreads.wasm" # a section more: still a module, but not the approved one
  expect "not the one that was approved" "$("$rigup" hooks info moorethreads 2>&1)"
  echo "waits, is approved, and is put aside when its bytes change"
fi
