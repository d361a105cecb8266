#!/bin/bash
# Format, vet, staticcheck, manifest, generated files, for every platform that rigup is built for.
set -euo pipefail
cd "$(dirname "$0")/.."
say() { printf '== %s\n' "$*"; }

say "format"
bad=$(gofmt -l $(git ls-files --cached --others --exclude-standard '*.go'))
[ -z "$bad" ] || { echo "not formatted (gofmt -w):"; echo "$bad"; exit 1; }

say "go.mod is tidy"
go mod tidy -diff
(cd test/lab && go mod tidy -diff)

say "vet"
go vet ./...
(cd test/lab && go vet ./...)
for platform in windows/amd64 darwin/arm64 linux/arm64; do
  say "vet $platform"
  GOOS=${platform%/*} GOARCH=${platform#*/} go vet ./cmd/rigup/... ./core/... ./hooks/...
done

say "staticcheck"
go run "$STATICCHECK" ./...

say "manifest"
go run ./core/assets/manifest
git diff --exit-code -- manifest.sha256 || { echo "manifest.sha256 is old: make manifest, and commit it"; exit 1; }

say "no package-level state, no long files"
go run ./test/style
echo "all checks passed"
