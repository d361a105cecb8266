#!/bin/bash
# wine.sh: the host of the hooks on Windows, as far as Wine has it: the child process, its job object and its memory
# limit, held against the whole hostile corpus. Wine is not Windows; what it cannot do is left out below, and named.
#
# On Debian as root, Wine is installed when it is missing. Elsewhere this is skipped, and says so; in CI that is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v wine > /dev/null || ! command -v x86_64-w64-mingw32-ld > /dev/null; then
  if [ "$(id -u)" != 0 ] || ! grep -qs '^ID=debian' /etc/os-release || [ "$(dpkg --print-architecture)" != amd64 ]; then
    echo "skipped: there is no Wine, and this is not Debian on amd64, as root"
    [ "${CI:-}" = true ] && exit 1
    exit 0
  fi
  log=$(mktemp)
  packages="wine wine64 binutils-mingw-w64-x86-64"
  apt-get install -y -qq --no-install-recommends $packages > "$log" 2>&1 ||
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages; } >> "$log" 2>&1 ||
    { tail -n 20 "$log"; exit 1; }
fi
work=$(mktemp -d)
export WINEDEBUG=-all WINEPREFIX=$work/prefix WINEARCH=win64
trap 'wineserver -k 2> /dev/null || true; rm -rf "$work"' EXIT
mkdir "$work/prefix"
wineserver -p # starting one for each process takes seconds
wine wineboot -i > "$work/boot" 2>&1 || { cat "$work/boot"; exit 1; }
# Go takes its randomness from bcryptprimitives.dll, which Wine 8 does not have: this one forwards to where Wine has it.
cat > "$work/dll.s" <<'ASM'
.globl DllMain
DllMain:
  mov $1, %eax
  ret
ASM
printf 'LIBRARY bcryptprimitives.dll\nEXPORTS\nProcessPrng = advapi32.SystemFunction036\n' > "$work/dll.def"
(
  cd "$work"
  x86_64-w64-mingw32-as -o dll.o dll.s
  x86_64-w64-mingw32-dlltool -d dll.def -e exports.o -D bcryptprimitives.dll
  x86_64-w64-mingw32-ld -shared -s -e DllMain -o prefix/drive_c/windows/system32/bcryptprimitives.dll dll.o exports.o
)
GOOS=windows GOARCH=amd64 go test -c -o "$work/hookhost.test.exe" ./core/hookhost
# Left out: what builds a hook first (there is no Go inside of Wine), what removes folders or files through os.Root
# (Wine 8: "Invalid function"), and the child without the static check (Wine 8 takes the memory limit of a job object
# and does not keep it, so that only the watchdog holds what the check would have refused).
cd core/hookhost
wine "$work/hookhost.test.exe" -test.timeout 10m -test.skip 'TestH5SameAnswer|TestInspectGo|TestNoSuchProgram|TestDirMemory|TestH1ChildAlone' < /dev/null > "$work/out" 2>&1 ||
  { cat "$work/out"; exit 1; }
tail -n 1 "$work/out"
