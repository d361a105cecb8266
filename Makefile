# rigup. `make demo` runs the main job on this machine, `make test` passes all tests.

VERSION  ?= 0.1.0
GOOS     ?= $(shell go env GOOS)
GOARCH   ?= $(shell go env GOARCH)
EXE      := $(if $(filter windows,$(GOOS)),.exe,)
BIN      := bin/rigup$(EXE)
LDFLAGS  := -s -w -X main.version=$(VERSION)
GOBUILD  := CGO_ENABLED=0 go build -trimpath -buildvcs=false
export GOTESTSUM := v1.13.0
export STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
LAB      := go run -C test/lab .

.PHONY: build helpers test unit hooks e2e fuzz demo demo-down lab lab-down bench check generate manifest clean

build: helpers ## the executable for GOOS/GOARCH, static
	GOOS=$(GOOS) GOARCH=$(GOARCH) $(GOBUILD) -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/rigup

helpers: ## what the executable carries and is built: the built-in hooks, the programs that run in the cluster
	go run ./hooks/builtin/build -out assets/hooks/builtin.wasm.zst
	go run ./core/assets/helpers -arch $(GOARCH) -version $(VERSION)

test: build ## everything: unit, golden, end to end in the lab
	test/run.sh

unit: helpers
	go test ./...

hooks: build ## the templates and example hooks, built and tested
	test/hooks.sh

e2e: build
	test/run.sh e2e

fuzz: ## the readers of what hooks send, for a minute each (FUZZTIME=10m)
	test/fuzz.sh

demo: build ## installs a cluster named demo, with all its output, and leaves it running
	test/demo.sh up

demo-down:
	test/demo.sh down

lab: ## a real engine, registry and Kubernetes for the tests (Debian 12, root)
	$(LAB) up

lab-down:
	$(LAB) down

bench: build ## ratios against a baseline measured in the same run
	test/bench.sh

check: helpers ## format, vet, staticcheck, manifest, generated files
	test/check.sh

generate: ## schemas and golden files, made from the Go types and the code
	go test ./core/report ./core/release ./cmd/rigup ./core/hookkit ./test/machines -update

manifest: ## manifest.sha256, over every tracked embedded file
	go run ./core/assets/manifest

clean:
	rm -rf bin dist assets/helpers/*.zst assets/helpers/manifest.sha256
