# The front door. `make` alone lists what there is. Only Node (20 or later), npm, make and a C compiler need to be installed:
# everything else, including the Node that runs Perdure, comes from the lock file.
.DEFAULT_GOAL := help
SHELL := /bin/sh
PNPM := npx -y pnpm@10.34.8
NODE := node_modules/node/bin/node
JEST := $(NODE) --experimental-vm-modules --no-warnings node_modules/jest/bin/jest.js
INSTALLED := node_modules/.perdure-installed
BUNDLE := services/standalone/dist/main.mjs
MANIFESTS := package.json pnpm-workspace.yaml pnpm-lock.yaml $(wildcard libs/*/package.json services/*/package.json deploy/examples/*/package.json)
SOURCES := $(shell find libs services proto \( -name node_modules -o -name dist -o -name testdata \) -prune -o -name '*.ts' -print)

SEED ?=
COUNT ?=
FILTER ?=

.PHONY: help build run test check format sim bench microbench test-sdks conformance clean

help: ## Show this list
	@echo "Perdure. Usage: make <target>"
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: $(BUNDLE) ## Install what the lock file names and bundle the services

# A half-finished install must not look finished: the stamp is written last.
$(INSTALLED): $(MANIFESTS)
	@echo "Installing the packages of the lock file …"
	@NODE_ENV=development $(PNPM) install --frozen-lockfile --config.confirm-modules-purge=false --reporter=append-only
	@touch $@

$(BUNDLE): $(INSTALLED) deploy/build.mjs deploy/bundle.mjs $(SOURCES)
	@$(NODE) deploy/build.mjs
	@touch $@

run: build ## Demo: a greeter survives kill -9 of the server, then both stay up
	@exec $(NODE) deploy/examples/greeter/src/demo/main.ts

test: $(INSTALLED) ## Run the tests (FILTER=path narrows them)
	@$(JEST) $(FILTER)

check: $(INSTALLED) ## Format, lint, types, and the rules of the house
	@node_modules/.bin/biome check .
	@node_modules/.bin/tsc -p tsconfig.json --noEmit
	@$(JEST) libs/conformance/src/tidy.test.ts

format: $(INSTALLED) ## Rewrite what the formatter and the linter can fix
	@node_modules/.bin/biome check --write .

sim: $(INSTALLED) ## Simulate seeded, faulty worlds (SEED=7 replays one, COUNT=1000 makes more)
	@SEED='$(SEED)' COUNT='$(COUNT)' $(NODE) deploy/sim.mjs

bench: build ## Measure Perdure and the reference side by side (QUICK=1 for a first look); needs wrk
	@$(NODE) libs/conformance/bench/main.mjs

microbench: $(INSTALLED) ## Measure single packages (FILTER=ids narrows them)
	@$(NODE) deploy/microbench.mjs $(FILTER)

conformance: build ## Run real SDK services against a server that is killed and restarted
	@$(JEST) libs/conformance/test $(FILTER)

test-sdks: build ## Run the published SDKs of every language against a server
	@$(NODE) libs/conformance/sdks/run.mjs $(FILTER)

clean: ## Remove what was built; data and installed packages stay
	@rm -rf services/*/dist coverage .cache
