# Commands of this repository. Scripts that they use are in tools/.
#   make run              start a server with a template and a workspace, to try the product
#   make build            build bin/coder and the agent for this platform
#   make test             run every check that a change must pass; installs what is missing
#   make test-all         run every check that a release must pass, which takes hours
#   make flaky            run tests three times on a busy machine and list those that failed;
#                         FLAKY=unit for one target, UNIT=./internal/queue for one of its packages,
#                         ROUNDS=1 for one run
#   make test-kube        run the part of make unit that needs a Kubernetes API server
#   make test-cluster     run the charts, the operator, the template `kubernetes` and the commands
#                         of docs/kubernetes in a cluster of two nodes, and an upgrade from
#                         PREVIOUS, a checkout; needs Linux and root, see tools/kube/cluster
#   make test-firefox     use the dashboard with Firefox; make test does it with Chromium
#   make test-gitea       use git in a workspace with a real Gitea, which the first run builds
#   make test-docker      run the template `docker` and a dev container with a Docker daemon
#   make test-image       build the images of deploy/docker and check them; needs the same
#   make test-terraform   run builds with the newest and oldest Terraform and with OpenTofu;
#                         VERSIONS=all for every supported version, which the first run
#                         builds in an hour
#   make test-kills       kill the engine at random moments of 50 builds
#   make test-upgrade     replace two servers ten times by PREVIOUS, the program of another version,
#                         and back, under load
#   make bench            print the measured ratios; also bench-queue, bench-access,
#                         bench-dashboard, bench-speed, bench-retention and bench-operator
#   make bench-scale      measure the load of many users; SCALE='-duration 30m' for the
#                         published duration, docs/scale-test.md for the others
#   make soak             kill processes under load for five minutes, and check that nothing is
#                         lost and nothing grows; SOAK='-duration 2h' for longer
#   make version          print the version that a build of this commit has
#   make agents           build the agents for all platforms
#   make clis             build the CLI for all platforms
#   make downloads        compress both into bin/downloads, which a server serves
#   make release          build archives, deb and rpm packages, checksums and the SBOM into dist
#   make image            build the server's image with Docker, named $(IMAGE)
#   make operator         build bin/coder-operator for Kubernetes
#   make operator-image   build its image with Docker, named OPERATOR_IMAGE

SHELL := /bin/bash
GO    ?= go
# One environment for every build and check, so that packages compile once, whatever
# the directory of the checkout. The race detector and vale require cgo.
export CGO_ENABLED := 0
export GOFLAGS     := $(strip $(filter-out -trimpath,$(shell $(GO) env GOFLAGS)) -trimpath)
RACE  := CGO_ENABLED=1
BIN   := $(CURDIR)/bin
# All checkouts share the tools, by a hash of their sources and of the compiler's version.
CACHE := $(shell tools/cache)
TOOLS := $(CACHE)/tools/$(shell { $(GO) version; find tools -name 'go.*' -o -name '*.go' | LC_ALL=C sort | xargs cat; } | sha256sum | cut -c1-16)
NODE  := PATH=$$($(CURDIR)/tools/node):$$PATH
TERRAFORM := PATH=$$(dirname $$(tools/terraform/get)):$$PATH

# The version is the tag, or else the API level of codersdk/version.go and the
# commit. A build without the repository, such as that of an image, passes VERSION=.
STAMP   := $(shell git status >/dev/null 2>&1 && echo true || echo false)
LEVEL   := $(shell sed -n 's/^const Development = "\(.*\)"/\1/p' codersdk/version.go)
TAG     := $(shell git describe --tags --exact-match --match 'v2.*' 2>/dev/null)
COMMIT  := $(shell git rev-parse --short=12 HEAD 2>/dev/null)
DIRTY   := $(if $(shell git status --porcelain 2>/dev/null),dirty)
VERSION ?= $(if $(TAG),$(TAG)$(DIRTY:%=+%),$(LEVEL)$(COMMIT:%=+%$(DIRTY:%=.%)))
HISTORY := $(wildcard $(shell git rev-parse --git-path logs/HEAD 2>/dev/null))
LDFLAGS := -s -w -X github.com/seed-2a7f8fe7/coder/codersdk.release=$(VERSION)
ifneq ($(VERSION),)
ifeq ($(shell echo '$(VERSION)' | grep -E '^v2\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$$'),)
$(error VERSION=$(VERSION) is not a semantic version such as v2.37.1: clients compare it and would refuse the server)
endif
endif

.PHONY: build dashboard filetimes version agents clis downloads release image operator operator-image run test test-all flaky test-kube test-cluster test-firefox test-gitea test-docker test-terraform test-kills test-image test-upgrade lint prose generate chart check-generated unit web-test e2e bench bench-queue bench-access bench-dashboard bench-speed bench-retention bench-operator bench-scale soak setup clean

GOSOURCE := $(shell find . -name '*.go' -not -name '*_test.go' -not -path './.cache/*' -not -path './web/node_modules/*' -not -path './web/icons/node_modules/*') go.mod go.sum $(HISTORY)

build: $(BIN)/coder $(BIN)/coder-agent-$(shell $(GO) env GOOS)-$(shell $(GO) env GOARCH)

EMBEDDED := $(shell find internal examples -type f -not -name '*.go' 2>/dev/null) web/dist/index.html

$(BIN)/coder: $(GOSOURCE) $(EMBEDDED)
	@mkdir -p $(BIN)
	$(GO) build -buildvcs=$(STAMP) -ldflags '$(LDFLAGS)' -o $@ ./cmd/coder

version:
	@echo $(or $(VERSION),$(LEVEL))

# The server serves agents from its own directory.
PLATFORMS := linux-amd64 linux-arm64 linux-armv7 darwin-amd64 darwin-arm64 windows-amd64.exe windows-arm64.exe

agents: $(addprefix $(BIN)/coder-agent-,$(PLATFORMS))

clis: $(addprefix $(BIN)/coder-,$(PLATFORMS))

# $(1) is a platform of the list, $(2) a command.
cross = GOOS=$(word 1,$(subst -, ,$(1))) GOARCH=$(subst armv7,arm,$(basename $(word 2,$(subst -, ,$(1))))) GOARM=7 \
	$(GO) build -buildvcs=$(STAMP) -ldflags '$(LDFLAGS)' -o $@ ./cmd/$(2)

$(addprefix $(BIN)/coder-agent-,$(PLATFORMS)): $(BIN)/coder-agent-%: $(GOSOURCE)
	@mkdir -p $(BIN)
	$(call cross,$*,coder-agent)

$(addprefix $(BIN)/coder-,$(PLATFORMS)): $(BIN)/coder-%: $(GOSOURCE) $(EMBEDDED)
	@mkdir -p $(BIN)
	$(call cross,$*,coder)

# Packages and images contain these compressed files. A server serves them from its
# own directory or from ../share/coder/bin.
downloads: agents clis
	$(GO) run ./internal/download/pack $(BIN)/downloads $(addprefix $(BIN)/coder-,$(PLATFORMS)) $(addprefix $(BIN)/coder-agent-,$(PLATFORMS))

release: downloads
	cd tools/release && $(GO) vet . && $(GO) test .
	@mkdir -p .cache
	cd tools && $(GO) run ./sbom -type application -npm ../web/package-lock.json,../web/icons/package-lock.json $(addprefix $(BIN)/coder-,$(PLATFORMS)) $(addprefix $(BIN)/coder-agent-,$(PLATFORMS)) >$(CURDIR)/.cache/release.cdx.json
	cd tools/release && $(GO) run . -bin $(BIN) -out $(CURDIR)/dist -source $(CURDIR) -sbom $(CURDIR)/.cache/release.cdx.json
	@ls -lh dist

# Load it into a cluster with `kind load docker-image $(IMAGE)`, `minikube image load`,
# `docker save $(IMAGE) | ctr -n k8s.io images import -`, or push it to a registry.
IMAGE ?= coder:latest

image:
	docker build --build-arg VERSION=$$($(MAKE) -s version) -f deploy/docker/Dockerfile --target coder -t $(IMAGE) .

operator: $(BIN)/coder-operator

OPERATOR_IMAGE ?= coder-operator:latest

operator-image:
	docker build --build-arg VERSION=$$($(MAKE) -s version) -f deploy/docker/Dockerfile --target operator -t $(OPERATOR_IMAGE) .

# Most of the operator is generated code of Kubernetes' libraries that waits for the
# network: without traces of gRPC, inlining and wide alignment it is a fourth smaller.
# bench-operator has a row with its size. deploy/docker/Dockerfile has the same flags.
$(BIN)/coder-operator: $(GOSOURCE)
	@mkdir -p $(BIN)
	$(GO) build -tags grpcnotrace -gcflags=all=-l -buildvcs=$(STAMP) -ldflags '$(LDFLAGS) -funcalign=16' -o $@ ./cmd/coder-operator

# The dashboard is built to web/dist, which the binary embeds.
WEB := src public index.html tsconfig.json vite.config.ts package.json package-lock.json

dashboard: web/dist/index.html

web/dist/index.html: $(shell find $(WEB:%=web/%) -type f) web/node_modules/.installed web/icons/dist/index.json.gz
	tools/kept web dist 'npm run --silent build' $(WEB)
	@touch $@

NPM := npm ci --no-audit --no-fund --loglevel error

web/node_modules/.installed: web/package-lock.json
	@tools/setup
	tools/kept web node_modules '$(NPM)' package.json package-lock.json
	@touch $@

# Icons and emoji come from npm packages; the binary embeds their archive.
ICONS := build.mjs sources.json licenses.json NOTICE.txt TEXTS.txt own package.json package-lock.json

web/icons/dist/index.json.gz: $(shell find $(ICONS:%=web/icons/%) -type f) web/icons/node_modules/.installed
	tools/kept web/icons dist 'npm run --silent build' $(ICONS)
	@touch $@

web/icons/node_modules/.installed: web/icons/package-lock.json
	@tools/setup
	tools/kept web/icons node_modules '$(NPM)' package.json package-lock.json
	@touch $@

setup:
	@tools/setup

run: setup build
	@PATH=$$PATH:$$(dirname $$(tools/terraform/get)) tools/run $(BIN)/coder

# Generated code and the dashboard come first, because the checks read them. Stages run one
# after the other: on a machine that compiles everything for the first time, stages beside
# each other slow the tests down until they reach their time bounds.
test: setup
	MAKE='$(MAKE)' tools/stages check-generated dashboard build lint unit web-test e2e test-terraform

# What make test leaves out, because it takes long or requires root. test-upgrade is not
# among them: it requires a program of another version.
test-all: test
	MAKE='$(MAKE)' VERSIONS=all SOAK='-duration 1h' tools/stages test-terraform test-kills test-firefox test-gitea test-docker test-image test-cluster soak release

# It finds tests that depend on timing or on the environment.
FLAKY ?= unit web-test e2e

flaky: setup dashboard build
	MAKE='$(MAKE)' tools/flaky $(FLAKY)

# In a new clone, lets Go's test cache answer for packages that did not change.
filetimes: $(TOOLS)/filetimes
	$<

# Runs Go tests. A failed test runs again, at most twice and only if at most five failed,
# but never after a data race. tools/stages lists the tests that then passed.
# $(1) is the name of the stage, $(2) its packages, $(3) flags of go test. COUNT=1 runs
# tests whose results Go has cached too.
# Without debug information, tests link in three quarters of the time.
gotest = $(TOOLS)/gotestsum --format pkgname-and-test-fails --format-hide-empty-pkg --format-icons text --hide-summary skipped \
	--rerun-fails=2 --rerun-fails-max-failures=5 --rerun-fails-abort-on-data-race --rerun-fails-report=$(RESULTS)/$(1).reruns \
	--jsonfile-timing-events=$(RESULTS)/$(1).json --packages "$(2)" -- -vet=off -ldflags=-w $(3) $(COUNT:%=-count %)
RESULTS := $(CURDIR)/.cache/test

# The catalog of metrics, and the unit tests of the alerts.
PROMETHEUS := tools/promcheck/testdata

lint: $(TOOLS)/staticcheck $(TOOLS)/promcheck prose
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo 'gofmt wants to change:'; gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) vet ./...
	for os in windows darwin; do GOOS=$$os $(GO) build ./internal/cli/agentcmd || exit; done
	GOOS=linux GOARCH=arm $(GO) build ./internal/cli # an int has 32 bits there
	$(TOOLS)/staticcheck ./...
	$(TOOLS)/promcheck -metrics $(PROMETHEUS)/metrics.txt deploy/charts/coder/monitoring/rules.yaml $(PROMETHEUS)/rules_test.yaml deploy/charts/coder/monitoring/dashboards/*.json
	cd web && $(NODE) npm run --silent check

# The language of pages, comments, errors, help and UI strings. PROSE=-warn prints long
# sentences too; PROSE='comments internal/queue' checks one directory.
prose: $(TOOLS)/vale $(TOOLS)/prose web/node_modules/.installed
	cd web && $(NODE) node strings.mjs ../.cache/strings
	$(TOOLS)/prose -vale $(TOOLS)/vale -strings .cache/strings $(PROSE)

web-test: web/node_modules/.installed
	cd web && NO_COLOR=1 $(NODE) npm test --silent

# Terraform starts the provider many times, and a test binary with the race detector
# takes a second of processor time for each start.
PROVIDER := $(CACHE)/provider/$(shell { $(GO) version; find internal/tfprovider -name '*.go' | LC_ALL=C sort | xargs cat go.sum; } | sha256sum | cut -c1-16)/terraform-provider-coder

$(PROVIDER):
	$(call buildtool,.,./internal/tfprovider/program)

# The packages that the target unit tests: all, or those of UNIT=./internal/queue. The slowest
# start first, so that none of them runs alone at the end. Others test a built program: e2e
# and clienttest.
SLOWEST := $(addprefix ./internal/,operator httpapi terraform httpapi/mirrorapi provisionapi appproxy agent cli servertest queue workspace)
# The first use of LISTED runs go list.
LISTED = $(eval LISTED := $(shell $(GO) list -f '.{{slice .ImportPath (len .Module.Path)}}' $(or $(UNIT),./...) | grep -v -e /e2e$$ -e /clienttest$$))$(LISTED)
PACKAGES = $(strip $(foreach p,$(SLOWEST),$(filter $(p),$(LISTED))) $(filter-out $(SLOWEST) $(AGGREGATED),$(LISTED)))

# Tests of the aggregated API run without the race detector, because k8s.io/apiserver v0.36.3
# has a data race in SecureServingInfo.Serve.
AGGREGATED := ./internal/operator/aggregated

# Tests of the operator need a Kubernetes API server.
OPERATOR = $(filter ./internal/operator%,$(LISTED))

# Tests in files with the build constraint !race send thousands of requests one after
# another. The race detector finds nothing in them that smaller tests do not show it.
TABLES = $(shell git grep -l '^//go:build !race' -- $(patsubst %,':(glob)%/*_test.go',$(LISTED)))
TABLETESTS = $(shell grep -ho '^func Test[A-Za-z0-9]*' $(TABLES) | cut -d ' ' -f 2 | paste -s -d '|')

# Tests wait a third of their time, so three packages run at a time for every two processors.
# `make lint` runs vet, so `go test` does not.
ATATIME := $(shell echo $$((($$(getconf _NPROCESSORS_ONLN) * 3 + 1) / 2)))

unit: web/dist/index.html $(TOOLS)/gotestsum $(PROVIDER)
	@mkdir -p $(RESULTS)
	@$(if $(LISTED),,echo 'UNIT=$(UNIT) has no packages with unit tests'; exit 1)
	$(if $(UNIT),,cd tools && $(GO) test -vet=off ./... && cd promcheck && $(GO) test -vet=off .)
	$(if $(OPERATOR),assets=$$(tools/kube/setup) && export KUBEBUILDER_ASSETS=$$assets || exit;) \
	{ failed=0; \
	$(if $(TABLES),$(call gotest,tables,$(addprefix ./,$(sort $(dir $(TABLES)))),-run '^($(TABLETESTS))$$' -timeout 20m) || failed=1;) \
	$(if $(filter $(AGGREGATED),$(LISTED)),$(call gotest,aggregated,$(AGGREGATED),-timeout 20m) || failed=1;) \
	exit $$failed; } & unraced=$$!; trap 'kill $$unraced' INT TERM; \
	$(if $(PACKAGES),$(TERRAFORM) CODER_TEST_PROVIDER=$(PROVIDER) $(RACE) $(call gotest,unit,$(PACKAGES),-race -p $(ATATIME) -timeout 20m);) raced=$$?; \
	wait $$unraced && exit $$raced

# The first run builds a kube-apiserver, which takes minutes; see tools/kube.
test-kube:
	$(MAKE) --no-print-directory unit UNIT=./internal/operator/...

# Browsers slow each other down, so few of their tests run at a time, beside the other
# tests, which mostly wait.
BROWSERS := ^TestScripts$$/^(dashboard|wsproxyserver)
e2e: build $(TOOLS)/gotestsum
	@mkdir -p $(RESULTS)
	$(TERRAFORM) && export PATH CODER_E2E_BINARY=$(BIN)/coder && { \
	$(call gotest,browsers,./e2e,-run '$(BROWSERS)' -timeout 60m -count 1 -parallel 2) & browsers=$$!; trap 'kill $$browsers' INT TERM; \
	$(call gotest,e2e,./e2e,-skip '$(BROWSERS)' -timeout 60m -count 1 -parallel 3); scripts=$$?; \
	$(call gotest,clients,./internal/clienttest,-timeout 10m -count 1 -parallel 6); clients=$$?; \
	wait $$browsers && [ $$scripts -eq 0 ] && [ $$clients -eq 0 ]; }

# The main job, also by keyboard, sign-in, the account, lists, settings, templates, users,
# organizations, OAuth2 applications and restarts of the server.
test-firefox: build
	tools/setup firefox
	$(TERRAFORM) CODER_E2E_BROWSER=firefox CODER_E2E_BINARY=$(BIN)/coder $(GO) test -vet=off -count 1 -timeout 60m -parallel 1 -run 'TestScripts$$/^dashboard(_account|_keyboard|_lists|_login|_oauth2|_organizations|_people|_restart|_settings|_templates|)$$' ./e2e

test-upgrade: setup build
	@test -x '$(PREVIOUS)' || { echo 'set PREVIOUS to the coder program of the other version'; exit 1; }
	$(TERRAFORM) CODER_E2E_BINARY=$(BIN)/coder CODER_E2E_PREVIOUS=$(abspath $(PREVIOUS)) \
		$(GO) test -vet=off -count 1 -v -run TestRollingUpgrade ./e2e

# The first run builds the programs of Kubernetes that test-kube does not need.
test-cluster: setup build operator
	PREVIOUS='$(if $(PREVIOUS),$(abspath $(PREVIOUS)))' tools/kube/cluster

test-gitea: setup build
	gitea=$$(tools/gitea/get) && $(TERRAFORM) CODER_TEST_GITEA=$$gitea CODER_E2E_BINARY=$(BIN)/coder $(GO) test -vet=off -count 1 -v -run TestGitea ./e2e

# On a machine that cannot run Docker, the script prints the reason and the check passes.
test-docker: setup build
	tools/docker/test || [ $$? -eq 77 ]

VERSIONS ?= ends

test-terraform: build $(PROVIDER)
	CODER_TEST_PROVIDER=$(PROVIDER) CODER_E2E_BINARY=$(BIN)/coder tools/terraform/matrix $(VERSIONS)

# Kills the engine at random moments of 50 builds; make test does it in three.
test-kills: setup $(PROVIDER)
	$(TERRAFORM) CODER_TEST_PROVIDER=$(PROVIDER) $(GO) test -vet=off -count 1 -timeout 60m -run TestRandomKills ./internal/terraform -kill-rounds 50

# As in test-docker, 77 means that this machine cannot run it.
test-image: setup
	tools/docker/image || [ $$? -eq 77 ]

bench: setup build
	$(GO) run ./internal/bench/cmd -coder $(BIN)/coder

bench-queue: setup build
	$(GO) run ./internal/bench/cmd -coder $(BIN)/coder -measure queue
	$(TERRAFORM) $(GO) test -vet=off -run '^$$' -bench BesidePlans -benchtime 1x -timeout 30m ./internal/bench -coder $(BIN)/coder

bench-access: setup build
	$(NODE) $(GO) run ./internal/bench/cmd -coder $(BIN)/coder -measure access

bench-dashboard: setup build
	$(NODE) $(GO) run ./internal/bench/cmd -coder $(BIN)/coder -measure dashboard

# How long a user waits.
bench-speed: setup build
	$(TERRAFORM) $(GO) run ./internal/bench/cmd -coder $(BIN)/coder -measure speed

# Deletions of old rows beside other queries. ROWS is the size of each table.
bench-retention: ROWS ?= 10000000
bench-retention: setup
	$(GO) test -run '^$$' -bench Retention -benchtime 1x -timeout 180m ./internal/server/retention -retention-rows $(ROWS)

# It takes about 15 minutes with the default of one minute for each level.
bench-scale: setup build $(TOOLS)/promcheck
	@mkdir -p .cache/scale
	$(TERRAFORM) $(GO) run ./internal/bench/cmd -coder $(BIN)/coder -measure scale -promcheck $(TOOLS)/promcheck -costs .cache/scale/costs.json $(SCALE)

soak: setup build
	$(TERRAFORM) $(GO) run ./internal/bench/cmd -coder $(BIN)/coder -measure soak $(SOAK)

bench-operator: operator
	set -o pipefail; assets=$$(tools/kube/setup) && KUBEBUILDER_ASSETS=$$assets $(GO) test -v -timeout 15m -count 1 -run TestMeasure ./internal/operator -measure $(BIN)/coder-operator | grep -E ' (ok|short)$$|^settled|FAIL'

# Generated code is committed. This target writes it again.
generate: web/node_modules/.installed web/icons/node_modules/.installed $(TOOLS)/notice $(TOOLS)/sqlc $(TOOLS)/protoc-gen-go $(TOOLS)/protoc-gen-go-drpc $(TOOLS)/controller-gen $(TOOLS)/openapi-gen
	cd internal/postgres && $(TOOLS)/sqlc generate
	PATH=$(TOOLS):$$PATH protoc -I. --go_out=. --go_opt=paths=source_relative --go-drpc_out=. --go-drpc_opt=paths=source_relative api/*/*.proto
	$(TOOLS)/controller-gen object crd:maxDescLen=200 paths=./api/v1alpha1 output:crd:dir=deploy/crd
	$(TOOLS)/controller-gen object paths=./api/aggregation/v1alpha1
	$(TOOLS)/openapi-gen --go-header-file /dev/null --output-dir api/aggregation/openapi --output-pkg github.com/seed-2a7f8fe7/coder/api/aggregation/openapi \
		--output-file zz_generated.openapi.go --output-model-name-file zz_generated.model_name.go --report-filename /dev/null \
		$(addprefix --readonly-pkg k8s.io/apimachinery/pkg/,apis/meta/v1 runtime version) \
		k8s.io/apimachinery/pkg/apis/meta/v1 k8s.io/apimachinery/pkg/runtime k8s.io/apimachinery/pkg/version ./api/aggregation/v1alpha1
	$(MAKE) --no-print-directory chart
	cd web && $(NODE) npm run --silent generate
	$(TOOLS)/notice -npm web,web/icons ./cmd/coder ./cmd/coder-agent ./cmd/coder-operator >NOTICE.new && mv NOTICE.new NOTICE

# Helm reads files of a chart only, so the operator's chart has copies of the manifests.
CHART := deploy/charts/coder-operator

chart:
	cd deploy/operator && cp rbac.yaml deployment.yaml roles.yaml monitoring/servicemonitor.yaml ../../$(CHART)/
	for d in aggregation mcp; do cp deploy/operator/$$d/*.yaml $(CHART)/$$d/ && rm $(CHART)/$$d/kustomization.yaml || exit; done
	cp deploy/crd/coder.com_*.yaml $(CHART)/crds/

check-generated:
	MAKE='$(MAKE)' tools/check-generated

# $(1) is the directory of a module, $(2) the package. The program appears when it is whole.
buildtool = mkdir -p $(@D) && cd $(1) && $(GO) build -o $@.$$$$ $(2) && mv $@.$$$$ $@

$(TOOLS)/vale:
	export CGO_ENABLED=1; $(call buildtool,tools/vale,github.com/vale-cli/vale/v3/cmd/vale)

$(TOOLS)/prose $(TOOLS)/notice $(TOOLS)/filetimes: $(TOOLS)/%:
	$(call buildtool,tools,./$*)

$(TOOLS)/promcheck:
	$(call buildtool,tools/promcheck,.)

$(TOOLS)/%:
	$(call buildtool,tools,$$($(GO) list -f '{{.ImportPath}}' tool | grep '/$*$$'))

clean:
	rm -rf bin dist .cache web/dist/* web/node_modules web/icons/dist/* web/icons/node_modules
