# What a person types here. Everything else is in Go, or in tools/.
#   make run     a server to try, with a template and a workspace
#   make test    everything a change must pass; sets up what it needs
#   make test-kube  that of it which needs a real Kubernetes API server: the operator, the charts
#   make test-cluster  the charts, the operator and the template `kubernetes` in a
#                whole cluster of one node; needs Linux and root, see tools/kube/cluster
#   make test-docker  the template `docker`, and a dev container, with a Docker daemon of their own
#   make test-image   the images of deploy/docker, built and looked at; the same needs
#   make bench   the measured rows, as ratios; bench-queue, bench-access, bench-dashboard and bench-operator have more
#   make build   bin/coder, and the agent for machines like this one
#   make agents  the agents for all other machines
#   make operator  bin/coder-operator, for Kubernetes

SHELL := /bin/bash
GO    ?= go
BIN   := $(CURDIR)/bin
TOOLS := $(CURDIR)/.cache/tools
# Node.js: the machine's, or the newer one that tools/setup fetched.
NODE  := PATH=$(CURDIR)/.cache/node/node_modules/.bin:$$PATH

# The toolchain stamps the version, from the tag or the commit, where git answers.
STAMP := $(shell git status >/dev/null 2>&1 && echo true || echo false)

.PHONY: build agents operator run test test-kube test-cluster test-docker test-image lint generate check-generated unit e2e bench bench-queue bench-access bench-dashboard bench-operator setup clean

GOSOURCE := $(shell find . -name '*.go' -not -name '*_test.go' -not -path './.cache/*' -not -path './web/node_modules/*') go.mod go.sum

build: $(BIN)/coder $(BIN)/coder-agent-$(shell $(GO) env GOOS)-$(shell $(GO) env GOARCH)

$(BIN)/coder: $(GOSOURCE) $(shell find internal examples -type f -not -name '*.go' 2>/dev/null) web/dist/index.html
	@mkdir -p $(BIN)
	CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=$(STAMP) -ldflags '-s -w' -o $@ ./cmd/coder

# The server serves the agents that lie beside it. Go keeps what it compiled for
# each platform, so that all of them anew take seconds.
agents: $(addprefix $(BIN)/coder-agent-,linux-amd64 linux-arm64 linux-armv7 darwin-amd64 darwin-arm64 windows-amd64.exe windows-arm64.exe)

$(BIN)/coder-agent-%: $(GOSOURCE)
	@mkdir -p $(BIN)
	CGO_ENABLED=0 GOOS=$(word 1,$(subst -, ,$*)) GOARCH=$(subst armv7,arm,$(basename $(word 2,$(subst -, ,$*)))) GOARM=7 \
		$(GO) build -trimpath -buildvcs=$(STAMP) -ldflags '-s -w' -o $@ ./cmd/coder-agent

operator: $(BIN)/coder-operator

$(BIN)/coder-operator: $(GOSOURCE)
	@mkdir -p $(BIN)
	CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=$(STAMP) -ldflags '-s -w' -o $@ ./cmd/coder-operator

# The dashboard: TypeScript to web/dist, which the binary embeds.
WEB := $(shell find web/src web/public -type f 2>/dev/null) web/index.html web/vite.config.ts web/tsconfig.json

web/dist/index.html: $(WEB) web/node_modules/.installed
	cd web && $(NODE) npm run --silent build

web/node_modules/.installed: web/package-lock.json
	@tools/setup
	cd web && $(NODE) npm ci --no-audit --no-fund --loglevel error
	@touch $@

setup:
	@tools/setup

run: setup build
	@tools/run $(BIN)/coder

test: setup lint check-generated unit test-kube e2e

lint: $(TOOLS)/staticcheck $(TOOLS)/promcheck web/node_modules/.installed
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo 'gofmt wants to change:'; gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) vet ./...
	for os in windows darwin; do GOOS=$$os $(GO) build ./internal/cli/inside || exit; done
	$(TOOLS)/staticcheck ./...
	$(TOOLS)/promcheck deploy/charts/coder/monitoring/*
	cd web && $(NODE) npm run --silent check

unit: web/dist/index.html
	cd web && $(NODE) npm test --silent
	$(GO) test -race -timeout 20m $$($(GO) list ./... | grep -v -e /e2e -e operator)

e2e: build
	CODER_E2E_BINARY=$(BIN)/coder $(GO) test -timeout 30m -count 1 ./e2e

# The first time, this builds a kube-apiserver, which takes minutes; see tools/kube.
# Its tests wait more than they compute, so more of them run at a time than there
# are processors. Kubernetes' library for API servers reads, in a goroutine that it
# starts, what it goes on to write (SecureServingInfo.Serve of k8s.io/apiserver
# v0.36.3), so what is built on it runs without the race detector.
test-kube:
	assets=$$(tools/kube/setup) && export KUBEBUILDER_ASSETS=$$assets && \
		$(GO) test -race -parallel 4 -timeout 15m -count 1 $$($(GO) list ./internal/operator/... | grep -v /aggregated) && \
		$(GO) test -parallel 4 -timeout 15m -count 1 ./internal/operator/aggregated ./cmd/coder-operator

# The first time, this builds the rest of Kubernetes too.
test-cluster: setup build operator
	tools/kube/cluster

# Where the machine cannot run Docker, it says so and is passed.
test-docker: setup build
	tools/docker/test || [ $$? -eq 77 ]

test-image: setup
	tools/docker/image

bench: setup build
	$(GO) run ./internal/bench/cmd -coder $(BIN)/coder

bench-queue: setup build
	$(GO) run ./internal/bench/cmd -coder $(BIN)/coder -measure queue

bench-access: setup build
	$(NODE) $(GO) run ./internal/bench/cmd -coder $(BIN)/coder -measure access

bench-dashboard: setup build
	$(NODE) $(GO) run ./internal/bench/cmd -coder $(BIN)/coder -measure dashboard

bench-operator: operator
	set -o pipefail; assets=$$(tools/kube/setup) && KUBEBUILDER_ASSETS=$$assets $(GO) test -v -timeout 15m -count 1 -run TestMeasure ./internal/operator -measure $(BIN)/coder-operator | grep -E ' (ok|short)$$|^settled|FAIL'

# Generated code is committed; this makes it anew.
generate: web/node_modules/.installed $(TOOLS)/sqlc $(TOOLS)/protoc-gen-go $(TOOLS)/protoc-gen-go-drpc $(TOOLS)/controller-gen $(TOOLS)/openapi-gen
	cd internal/postgres && $(TOOLS)/sqlc generate
	PATH=$(TOOLS):$$PATH protoc -I. --go_out=. --go_opt=paths=source_relative --go-drpc_out=. --go-drpc_opt=paths=source_relative api/*/*.proto
	$(TOOLS)/controller-gen object crd:maxDescLen=200 paths=./api/v1alpha1 output:crd:dir=deploy/crd
	$(TOOLS)/controller-gen object paths=./api/aggregation/v1alpha1
	$(TOOLS)/openapi-gen --go-header-file /dev/null --output-dir api/aggregation/openapi --output-pkg github.com/seed-2a7f8fe7/coder/api/aggregation/openapi \
		--output-file zz_generated.openapi.go --output-model-name-file zz_generated.model_name.go --report-filename /dev/null \
		$(addprefix --readonly-pkg k8s.io/apimachinery/pkg/,apis/meta/v1 runtime version) \
		k8s.io/apimachinery/pkg/apis/meta/v1 k8s.io/apimachinery/pkg/runtime k8s.io/apimachinery/pkg/version ./api/aggregation/v1alpha1
	cd web && $(NODE) npm run --silent generate

check-generated: generate
	@git diff --exit-code --stat -- internal/postgres/sqlc 'api/*.pb.go' api/v1alpha1 api/aggregation deploy/crd web/src/api/schema.gen.ts || { echo 'generated code is not up to date: run make generate and commit'; exit 1; }

$(TOOLS)/promcheck: $(wildcard tools/promcheck/*)
	@mkdir -p $(TOOLS)
	cd tools/promcheck && $(GO) build -o $@ .

$(TOOLS)/%: tools/go.mod tools/go.sum
	@mkdir -p $(TOOLS)
	cd tools && $(GO) build -o $@ $$($(GO) list -f '{{.ImportPath}}' tool | grep '/$*$$')

clean:
	rm -rf bin .cache web/dist/* web/node_modules
