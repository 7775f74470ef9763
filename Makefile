# One command each. `make help` lists them; every target works from a fresh clone.
#
# Needed: Go (see go.mod), a C compiler for the race detector, for the tests of the Python package
# Python 3.9, 3.12 and 3.13 (or those beside them that python/locks names), and for the viewer's
# page Node 20.19 or later with npm. All else is pinned in go.mod, tools/go.mod, python/locks and
# web/package-lock.json, and fetched on first use: some 10 GB of PyTorch into the user's cache,
# and Chromium, where there is none, by apt-get.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL: # each step needs the processors for itself

VERSION  := $(shell git describe --tags --dirty 2>/dev/null)
LDFLAGS  := -s -w $(if $(VERSION),-X main.version=$(VERSION))
TOOL     := go tool -modfile=tools/go.mod
FUZZTIME ?= 30s

# NVML's header marks what its Go binding has to name as deprecated, in hundreds of warnings.
export CGO_CFLAGS ?= -O2 -g -Wno-deprecated-declarations
DEMO     := testdata/recordings/bert_varlen-lim16.pickle.xz

# The folder with acceptance scripts and recordings too large for the repository, where
# there is one beside the checkout.
SHARED   ?= ../shared

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/ullage
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/ullage

.PHONY: build-nvml
build-nvml: ## build bin/ullage with NVML, for machines with NVIDIA's driver; needs a C compiler
	CGO_ENABLED=1 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/ullage

.PHONY: demo
demo: build ## explain a recording of a real out-of-memory error
	bin/ullage explain $(DEMO)

.PHONY: test
test: setup check unit python page prometheus cross install-check accept ## all that must pass before a change goes in

.PHONY: check
check: ## format, module files, vet, staticcheck
	scripts/check-format
	scripts/syntax-wasm --check
	go mod tidy -diff
	go -C tools mod tidy -diff
	go vet ./...
	$(TOOL) staticcheck ./...
	go -C tools vet ./...

.PHONY: unit
unit: ## the Go tests, with the race detector
	CGO_ENABLED=1 go test -race -timeout 20m ./... # a package takes two minutes; a busy machine, many more

.PHONY: python
python: ## the Python package's tests, with every Python that is found and three releases of torch
	scripts/test-python

.PHONY: page
page: ## the viewer's page: format, types, its own tests, and in a browser
	scripts/check-web
	scripts/test-web

.PHONY: prometheus
prometheus: ## the metrics, alerts and dashboard, with a real Prometheus
	scripts/test-prometheus

.PHONY: pre-commit
pre-commit: ## the hooks of the last commit, run by pre-commit itself, which fetches what it needs
	scripts/test-pre-commit

.PHONY: wheel
wheel: ## build the Python package into python/dist
	scripts/wheel

.PHONY: web
web: ## build the page of ullage view into web/dist
	scripts/web

.PHONY: setup
setup: ## fetch what the tests need
	scripts/setup

.PHONY: cross
cross: ## build and vet for every system that ullage runs on
	scripts/cross

.PHONY: install-check
install-check: ## install as users do, from a module proxy, and run the result
	go -C tools run ./installcheck ..

.PHONY: accept
accept: build ## compare with recordings of real runs, where they are at hand
	scripts/accept $(SHARED)

.PHONY: bench
bench: ## all benchmarks, each below its budget
	scripts/bench

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (30s)
	scripts/fuzz $(FUZZTIME)

.PHONY: fmt
fmt: ## format the Go code
	$(TOOL) gofumpt -w .

.PHONY: golden
golden: ## rewrite golden files and man pages after a wanted change of output; review the diff
	go test $$(git grep -l 'flag.Bool("update"' -- '*_test.go' | xargs -n 1 dirname | sort -u | sed 's|^|./|') -update
