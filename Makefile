# Holon. `make` prints this help.
SHELL := /bin/bash
GO ?= go
BIN := bin/holon
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null)
LDFLAGS := -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)
BUILDFLAGS ?= -trimpath
DIST ?= dist
LISTEN ?= 127.0.0.1:8080
DATA ?=
SOAK ?= 10m
CASES ?= 1000000
STARTS ?= 10000
TREES ?= 2000
DELIVERIES ?= 500
RUNS ?= 50
AGENTS ?=
# The newest of both on npm. The encoder is of version 4.4 of the specification.
TOON_SPEC := 3.3.2
TOON := 4.4.0
export CGO_ENABLED := 1
# Information for debuggers is a fifth of the time of compiling SQLite.
export CGO_CFLAGS ?= -O2 -g0
TESTFLAGS := -vet=off -shuffle=on -timeout 20m
# What .ci/setup takes out of a package.
export PATH := $(CURDIR)/bin/setup/usr/bin:$(PATH)

.DEFAULT_GOAL := help

.PHONY: help
help: ## Print this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/holon
	$(GO) build $(BUILDFLAGS) -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/holon

.PHONY: serve
serve: build ## Build, then serve; it says how to use your agents (LISTEN=127.0.0.1:0: a free port; DATA=DIR: its data)
	./$(BIN) serve --listen $(LISTEN) $(if $(DATA),--data $(DATA))

.PHONY: dist
dist: build ## Make dist/holon-VERSION-OS-ARCH.tar.gz for this platform, and SHA256SUMS
	GO='$(GO)' ./deploy/dist $(BIN) $(DIST) $(VERSION)

# Many packages wait for processes and clocks rather than for a processor: more of them
# run at once than there are processors.
AT_ONCE ?= 3

# What takes longest begins first: else it runs alone at the end, on one processor.
LONG := ./engine ./cmd/holon

.PHONY: setup
setup: ## Install what the tests need (as root on Debian; elsewhere it lists what is missing)
	@./.ci/setup

# What the race detector looks at. The packages of the second and third list have no goroutines, nor
# has what they import.
RACED = $(shell $(GO) list ./... | grep -vE '/(faults|conformance|bench|timeline|conversation|overview|clients)' | \
	grep -vE '/(backoff|cursors|events|inbox|inbox/schedule|items|ledger|limits|lines|mend|nearest|question|sanitize|strict|threads|turns)$$' | \
	grep -vE '/(cmd/holon/form|cmd/holon/toon|cmd/holon/when|dashboard/markdown|acp/mapping|notify/fold|rpc/frame|picturetest|browsertest)$$|^[^/]*/[^/]*/holon$$')

.PHONY: test
test: setup ## Run all tests, the short crash, power-cut and full-disk runs among them (BESIDE=race: only what make race does not run in full)
	./.ci/in-memory $(if $(BESIDE),./.ci/beside '$(RACED)',$(GO) test) -p $(AT_ONCE) $(TESTFLAGS) $(LONG) ./internal/test/browsertest ./internal/test/faults ./...
	@./.ci/setup # last, so that what was not tested is seen

# SQLite is compiled once more for the detector, which does not look into it: with -O1 in half of the time.
.PHONY: race
race: ## Run the tests of what has goroutines with the race detector
	CGO_CFLAGS='-O1 -g0' ./.ci/in-memory $(GO) test -p $(AT_ONCE) -race -short $(TESTFLAGS) $(LONG) $(RACED)

.PHONY: check
check: fmt vet lint generated race fuzz-short ## What CI runs beside the tests (which run the conformance suite, too)

.PHONY: fmt
fmt:
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -d $$(git ls-files '*.go'); exit 1; }

.PHONY: vet
vet:
	$(GO) vet ./...

.PHONY: lint
lint:
	$(GO) tool staticcheck ./...

.PHONY: generate
generate: ## Write docs/protocol.md, docs/openrpc.json, clients/js/types.d.ts and rpc/client/wire anew
	$(GO) generate ./...

.PHONY: generated
generated: generate
	@git diff --exit-code -- docs/protocol.md docs/openrpc.json clients/js/types.d.ts rpc/client/wire api/wire_types_test.go || { echo 'generated files have changed: run "make generate" and commit'; exit 1; }

.PHONY: lines
lines: ## Count the lines of the product, its support and its tests, by folder
	@./.ci/lines --folders

.PHONY: conformance
conformance: build ## Run the conformance suite against a server of this build
	./conformance/check.sh

.PHONY: bench
bench: build ## Measure against the baselines (about ten minutes)
	./$(BIN) bench

.PHONY: pictures
pictures: ## Draw the pictures of the documents from real terminals (about four minutes)
	mkdir -p docs/pictures
	PICTURES=$(CURDIR)/docs/pictures REQUIRE_FAULTS=1 $(GO) test -count=1 -v -timeout 15m -run TestPictures ./cmd/holon/dashboard

.PHONY: pictures-console
pictures-console: ## Take pictures of every page of the console, on a phone and a desktop, light and dark (needs chromium)
	mkdir -p dist/pictures
	PICTURES=$(CURDIR)/dist/pictures REQUIRE_BROWSER=1 $(GO) test -count=1 -v -timeout 10m -run TestPictures ./internal/test/browsertest
	cp dist/pictures/console-thread-tools-desktop-light.png docs/pictures/console.png
	cp dist/pictures/console-overview-phone-dark.png docs/pictures/console-phone.png

.PHONY: soak-console
soak-console: ## Kill the server under the console at random in RUNS=50 random worlds (needs chromium)
	CONSOLE_SOAK=$(RUNS) REQUIRE_BROWSER=1 $(GO) test -count=1 -v -timeout 1h -run TestThePageIsExactAfterRandomKills ./internal/test/browsertest

.PHONY: soak-questions
soak-questions: ## Stop and kill the server RUNS=20 times under turns that wait for a person, beside pauses, prunes, second restarts and full disks
	RUNS=$(RUNS) $(GO) test -count=1 -v -timeout 1h -run TestQuestionsOutlive ./internal/test/faults

.PHONY: bench-people
bench-people: build ## Measure what a person feels of the dashboard and of the console (about three minutes)
	$(GO) run ./internal/bench/people --holon $(BIN)
	BENCH_CONSOLE=1 REQUIRE_BROWSER=1 $(GO) test -count=1 -v -timeout 10m -run TestWhatAPersonFeels ./internal/test/browsertest

.PHONY: fuzz-short
fuzz-short: ## Fuzz every parser with 10,000 inputs (FUZZTIME=1m: for a minute each)
	./.ci/in-memory ./.ci/fuzz

.PHONY: crash
crash: ## Kill a server at every write, 200 times at random, and cut its power (long)
	CRASH=long REQUIRE_FAULTS=1 $(GO) test -count=1 -v -timeout 60m -skip TestKillAtEveryWriteOfDeliveries ./internal/test/faults/...
	CRASH=long REQUIRE_FAULTS=1 $(GO) test -count=1 -v -timeout 60m -parallel 16 -run TestKillAtEveryWriteOfDeliveries ./internal/test/faults

.PHONY: fold
fold: ## Fold CASES=1000000 random logs of retries and compare all readers (long)
	FOLD_CASES=$(CASES) $(GO) test -count=1 -v -timeout 3h ./notify/fold

.PHONY: inbox-model
inbox-model: ## Run CASES=1000000 random histories of an inbox against a naive model (long)
	INBOX_CASES=$(CASES) $(GO) test -count=1 -v -timeout 3h -run Histories ./inbox

.PHONY: many-starts
many-starts: ## Start STARTS=10000 child turns from one agent and its children (long)
	STARTS=$(STARTS) $(GO) test -count=1 -v -timeout 1h -run StartingWorkInALoop ./cmd/holon

.PHONY: trees
trees: ## Run TREES=2000 random trees of turns, with crashes, against the properties of background work (long)
	TREES=$(TREES) $(GO) test -count=1 -v -timeout 3h -run 'TestRandomTrees$$' ./engine

.PHONY: deliveries
deliveries: ## Run DELIVERIES=500 random histories of deliveries, and kill one at every commit and answer (long)
	DELIVERIES=$(DELIVERIES) $(GO) test -count=1 -v -timeout 3h -run 'TestRandomDeliveries$$|TestKillAtEveryCommitAndAnswer$$' ./bridges/dispatch

.PHONY: soak
soak: ## Slow readers, reconnects and load for SOAK=10m
	SOAK=$(SOAK) $(GO) test -count=1 -v -timeout 3h -run Soak ./internal/test/faults/...

.PHONY: test-agents
test-agents: ## Try real agents: AGENTS="opencode codex claude gemini qwen" (installs what is missing, up to 460 MB each); RESTARTS=10 repeats the stops and kills with an open permission
	@test -n "$(AGENTS)" || { echo 'which ones? make test-agents AGENTS="opencode codex claude gemini"' >&2; exit 2; }
	$(GO) run ./internal/test/realagents/install $(AGENTS)
	HOLON_TEST_AGENTS="$(AGENTS)" $(GO) test -count=1 -timeout 10m -v -run TestFiveAgentsOnThreeTerminals ./cmd/holon/dashboard
	AGENTS_RESTARTS="$(RESTARTS)" HOLON_TEST_AGENTS="$(AGENTS)" $(GO) test -count=1 -timeout 3h -v -run TestRealAgents ./internal/test/realagents

.PHONY: proxies
proxies: ## Run the nginx and Caddy configurations of docs/security.md with the real programs (about two minutes)
	GO='$(GO)' ./deploy/proxies

.PHONY: test-toon
test-toon: ## Compare TOON with the specification's fixtures and the reference encoder (needs node and npm)
	@command -v node >/dev/null && command -v npm >/dev/null || { echo 'test-toon: node and npm are missing: install them' >&2; exit 2; }
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
	npm install --prefix "$$dir" --silent --no-save --no-audit --no-fund --ignore-scripts \
		@toon-format/spec@$(TOON_SPEC) @toon-format/toon@$(TOON) && \
	TOON_FIXTURES="$$dir/node_modules/@toon-format/spec/tests/fixtures/encode" TOON_REFERENCE="$$dir/node_modules/@toon-format/toon" \
		$(GO) test -count=1 -v -run 'TestOutputIsThatOf' ./cmd/holon/toon

.PHONY: clean
clean: ## Remove what was built
	rm -rf bin dist coverage.out
