# `make` alone lists the targets. Only Node (20 or later), npm and make need to be installed: everything else, including the Node that runs
# Perdure, comes from the lock file. Tests that need more (databases, Java, Go …) have targets of their own, which say what is missing.
.DEFAULT_GOAL := help
SHELL := /bin/sh
PNPM := npx -y pnpm@10.34.8
NODE := node_modules/node/bin/node
JEST := $(NODE) --no-warnings node_modules/jest/bin/jest.js
INSTALLED := node_modules/.perdure-installed
BUNDLE := services/standalone/dist/main.mjs
# The Kafka client computes a pause that may be negative, for which Node prints a warning.
CLUSTER_PROGRAM := $(NODE) --disable-warning=TimeoutNegativeWarning deploy/cluster/dist/main.mjs
CLOUD_PROGRAM := $(NODE) deploy/cloud/dist/main.mjs
MANIFESTS := package.json pnpm-workspace.yaml pnpm-lock.yaml $(wildcard libs/*/*/package.json services/*/package.json deploy/examples/*/package.json deploy/*/package.json)
SOURCES := $(shell find libs services proto deploy \( -name node_modules -o -name dist -o -name testdata \) -prune -o \( -name '*.ts' -o -name '*.tsx' -o -name '*.css' -o -name '*.html' -o -name '*.svg' \) -print) $(wildcard docs/errors/*.md)

SEED ?=
COUNT ?=
CONNECTIONS ?=
FILTER ?=
ONLY ?=
PLATFORMS ?=
PUBLISH ?=
WORKERS ?=
# Exported, because the runner of the tests reads it.
export WORKERS
TIERS := $(NODE) deploy/testing/run.mjs
BUF := libs/adapters/grpc/node_modules/.bin/buf
# In quotes: patterns of paths have parentheses and bars.
PATTERNS = $(foreach pattern,$(FILTER),'$(pattern)')
# A filtered run starts at once: suites that start a program build it themselves when its sources are newer.
TO_TEST = $(if $(FILTER),$(INSTALLED),build)
CLUSTER ?=
NAME ?=
SDK ?=

.PHONY: help build run example cluster cluster-down cloud cloud-down check format clean
.PHONY: test test-db test-kafka test-browser test-k8s test-images test-packages test-sdks test-examples test-all programs
.PHONY: sim sim-scale scale bench bench-check chaos fuzz microbench conformance screenshots visual charts reference docs packages release images images-check

help: ## Show this list
	@echo "Perdure. Usage: make <target>"
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: $(BUNDLE) ## Install what the lock file names, bundle the services and build the console

# A half-finished install must not look finished: the stamp is written last.
$(INSTALLED): $(MANIFESTS)
	@echo "Installing the packages of the lock file …"
	@NODE_ENV=development $(PNPM) install --frozen-lockfile --config.confirm-modules-purge=false --reporter=append-only
	@touch $@

$(BUNDLE): $(INSTALLED) deploy/build.mjs deploy/bundle.mjs deploy/console.mjs $(SOURCES)
	@$(NODE) deploy/build.mjs
	@touch $@

run: build ## Demo: a greeter survives kill -9 of the server, then both stay up
	@exec $(NODE) deploy/examples/greeter/src/demo/main.ts

example: build ## Demo of one pattern, with a kill -9 in the middle (NAME=saga, SDK=python; without a name: the list)
	@$(NODE) deploy/run-ts.mjs deploy/examples/patterns/src/demo/main.ts $(NAME) $(SDK)

cluster: build ## Demo: a whole cluster (PostgreSQL, Redis, Kafka, every role) on this machine, which stays up (WORKERS=3)
	@PERDURE_CLUSTER_WORKERS="$${PERDURE_CLUSTER_WORKERS:-$(WORKERS)}" exec $(CLUSTER_PROGRAM) up

cluster-down: build ## Stop it from elsewhere, also after a crash; its data stay
	@exec $(CLUSTER_PROGRAM) down

cloud: build ## Demo: the whole platform (accounts, environments, gateway, tunnels) on this machine, which stays up
	@exec $(CLOUD_PROGRAM) up

cloud-down: build ## Stop it from elsewhere, also after a crash; its data stay
	@exec $(CLOUD_PROGRAM) down

test: $(TO_TEST) ## Run every suite that needs only Node, servers as processes included (FILTER=path narrows, WORKERS=1)
	@$(TIERS) node $(PATTERNS)

test-db: $(TO_TEST) ## Run what needs PostgreSQL, Redis, a cluster of processes, or programs of Debian packages
	@$(TIERS) db $(PATTERNS)

test-kafka: $(TO_TEST) ## Run what needs Kafka (Java 17, Maven)
	@$(TIERS) kafka $(PATTERNS)

test-browser: $(TO_TEST) ## Run what needs a browser
	@$(TIERS) browser $(PATTERNS)

test-k8s: $(TO_TEST) ## Run what needs a Kubernetes control plane, compiled once (Go 1.26, ten minutes)
	@$(TIERS) k8s $(PATTERNS)

test-images: $(TO_TEST) ## Do every step of the images in clean directories, without an engine, and start the result (minutes)
	@$(TIERS) images $(PATTERNS)

test-packages: $(TO_TEST) ## Install the packages with npm, pnpm, Yarn and Bun in clean directories, and make durable calls (minutes)
	@$(TIERS) packages $(PATTERNS)

test-sdks: build ## Run the published SDKs of every language against a server
	@$(NODE) libs/testing/conformance/sdks/run.mjs $(PATTERNS)
	@$(NODE) deploy/examples/testing/run.mjs $(PATTERNS)

test-examples: $(TO_TEST) ## Run the examples that are not in TypeScript (Python, Go, Java with Maven), and perdure dev in a project of each language
	@$(TIERS) examples $(PATTERNS)

test-all: test test-db test-kafka test-browser test-k8s test-images test-packages test-sdks test-examples ## Run all of these

# What tests need and this machine has not compiled or unpacked yet.
programs: $(INSTALLED)
	@$(NODE) deploy/run-ts.mjs libs/testing/servers/src/prepare.ts

check: $(INSTALLED) ## Format, lint, types, and rules of the tree
	@node_modules/.bin/biome check .
	@node_modules/.bin/tsc -p tsconfig.json --noEmit
	@node_modules/.bin/tsc -p services/console --noEmit
	@node_modules/.bin/knip --no-progress --no-config-hints --no-tag-hints
	@node_modules/.bin/knip --production --config knip.production.jsonc --no-progress --no-config-hints --no-tag-hints
	@$(BUF) lint proto/control
	@$(BUF) breaking proto/control --against proto/released/control.v0.1.0.binpb
	@$(TIERS) check $(PATTERNS)

format: $(INSTALLED) ## Rewrite what the formatter and the linter can fix
	@node_modules/.bin/biome check --write .

sim: $(INSTALLED) ## Simulate seeded, faulty worlds (SEED=7 replays one, COUNT=1000 makes more; PLANT=name or all: find planted bugs)
	@SEED='$(SEED)' COUNT='$(COUNT)' FROM='$(FROM)' PLANT='$(PLANT)' SHORT='$(SHORT)' $(NODE) deploy/sim.mjs

sim-scale: $(INSTALLED) ## Simulate a large cluster whose workers fail one by one (PARTITIONS=1000 WORKERS=100 FAILURES=24 CALLERS=300 SEED=1)
	@SEED='$(SEED)' PARTITIONS='$(PARTITIONS)' FAILURES='$(FAILURES)' CALLERS='$(CALLERS)' $(NODE) deploy/sim-scale.mjs

scale: $(INSTALLED) ## Calculate what a cluster can carry, and what is used up first (ARGS='rate=50000 work=three-steps commitMs=2')
	@$(NODE) deploy/scale/src/main.ts $(ARGS)

BENCH = FILTER='$(FILTER)' $(NODE) libs/testing/conformance/bench/run.mjs

bench: build ## Measure Perdure and the reference side by side (FILTER='noop-* mixed' chooses rows, LIST=1 lists them, QUICK=1 tries them; needs cargo)
	@$(BENCH) $(if $(ONLY),sections,bench)

bench-check: build ## Fail when an invocation costs over a tenth more CPU than in the last record of make bench (FILTER chooses rows)
	@$(BENCH) check

chaos: build ## Break a cluster at work for MINUTES=10 (SEED=n replays; FAULT=text TIMES=n plays and measures one kind, FAULT=' ' all)
	@MINUTES='$(MINUTES)' SEED='$(SEED)' FAULT='$(FAULT)' TIMES='$(TIMES)' CALLERS='$(CALLERS)' $(NODE) libs/testing/conformance/chaos/run.mjs

fuzz: build ## Send protocol errors and random frames to every listener (CONNECTIONS=100000, SEED=n replays, FILTER=listener)
	@CONNECTIONS='$(CONNECTIONS)' SEED='$(SEED)' FILTER='$(FILTER)' $(NODE) deploy/run-ts.mjs libs/testing/conformance/test/fuzzer/main.ts

microbench: $(INSTALLED) ## Measure single packages (FILTER=ids narrows them)
	@$(NODE) deploy/microbench.mjs $(PATTERNS)

# Left out on a cluster: what is about the one process, its files and its memory, and what builds clusters of its own.
ONE_PROCESS := 'crash-attempt|disk-full|error-catalogue|query-process|query-limits|readme|restart|fuzz|test/cluster/'

conformance: build ## Run real SDK services against a server that is killed and restarted (CLUSTER=1: against clusters)
ifeq ($(CLUSTER),1)
	@$(JEST) --setupFilesAfterEnv=./libs/testing/conformance/test/cluster/all-worlds-are-clusters.ts --testTimeout=90000 --testPathIgnorePatterns $(ONE_PROCESS) -- $(or $(PATTERNS),libs/testing/conformance/test)
else
	@$(JEST) libs/testing/conformance/test $(PATTERNS)
endif

screenshots: programs ## Take the pictures of the console in docs/screenshots anew
	@PERDURE_SCREENSHOTS=1 $(JEST) services/console/test/screenshots

visual: programs ## Take the pictures anew that pages of the console are compared with (services/console/testdata/visual)
	@PERDURE_VISUAL=1 $(JEST) services/console/test/visual

charts: $(INSTALLED) ## Write the charts' definitions of custom resources, and the table of values, anew
	@PERDURE_WRITE_CHARTS=1 $(JEST) libs/core/custom-resources/test/chart.test.ts libs/testing/conformance/test/charts/values.test.ts

reference: $(INSTALLED) ## Write docs/reference, docs/cli.md and code on pages anew, from the code
	@PERDURE_UPDATE_DOCS=1 $(JEST) deploy/reference deploy/scale services/cli/src/docs libs/testing/conformance/src/tidy-docs

packages: build ## Pack npm packages, tarball, Debian package and formula into dist/packages (PLATFORMS=all: SQL engines of every platform)
	@PLATFORMS='$(PLATFORMS)' $(NODE) deploy/packages/build.mjs

release: $(INSTALLED) ## Check what a release needs and print its steps (VERSION=1.2.3; PUBLISH=1: version, commit, tag and pack; pushes nothing)
	@PUBLISH='$(PUBLISH)' $(NODE) deploy/release/src/main.ts $(VERSION)

docs: $(INSTALLED) ## Build docs/ as a static site in deploy/site/dist/site (the first run installs its generator, about 100 MB)
	@cd deploy/site && $(PNPM) install --ignore-workspace --frozen-lockfile --reporter=silent
	@cd deploy/site && ../../$(NODE) node_modules/vitepress/bin/vitepress.js build

images: ## Build the images for this machine with docker (REGISTRY=ghcr.io/perdure VERSION=0.1.0)
	@deploy/images/build.sh --load $(or $(REGISTRY),ghcr.io/perdure) $(or $(VERSION),0.1.0)

images-check: test-images

clean: ## Remove what was built; data and installed packages stay
	@rm -rf services/*/dist deploy/*/dist coverage .cache
