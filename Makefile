# Everything a developer runs. All tools come as Go modules, pinned in tools/*/go.mod.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
IMAGE ?= addon-operator:$(VERSION)
# A mirror of the vulnerability database, such as file:///srv/vulndb; empty means the public one.
VULNDB ?=
# Licences that linked modules may have.
LICENCES := Apache-2.0,BSD-2-Clause,BSD-3-Clause,ISC,MIT,MPL-2.0

# Without cgo, like the programs of the test cluster, so that both share the build cache.
TOOL := CGO_ENABLED=0 go tool
CONTROLLER_GEN := $(TOOL) -modfile=tools/gen/go.mod controller-gen
CRD_REF_DOCS := $(TOOL) -modfile=tools/gen/go.mod crd-ref-docs
GOLANGCI_LINT := $(TOOL) -modfile=tools/lint/go.mod golangci-lint-kube-api-linter
GO_LICENSES := $(TOOL) -modfile=tools/audit/go.mod go-licenses
HELM := $(TOOL) -modfile=tools/helm/go.mod helm

# With -p 1, one package at a time, where packages start clusters: each fills a small machine.
GO_TEST := go test -race -shuffle=on -timeout=40m

GENERATED := api/v1alpha1/zz_generated.deepcopy.go deploy/chart/files/crds deploy/bundle.yaml docs/api.md

.PHONY: help
help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

.PHONY: generate
generate: ## Write what is derived from the API types: deep copies, CRDs, docs/api.md and the bundle.
	$(CONTROLLER_GEN) object paths=./api/...
	$(CONTROLLER_GEN) crd paths=./api/... output:crd:dir=deploy/chart/files/crds
	$(CRD_REF_DOCS) --source-path=api/v1alpha1 --config=tools/gen/docs.yaml --renderer=markdown --output-path=docs/api.md --log-level=ERROR
	@$(MAKE) bundle

.PHONY: bundle
bundle: ## Render deploy/bundle.yaml from deploy/chart.
	@mkdir -p .cache
	$(HELM) template addon-operator deploy/chart --namespace kurl-addons --set namespace.create=true > .cache/bundle.yaml
	mv .cache/bundle.yaml deploy/bundle.yaml

.PHONY: fmt
fmt: ## Format the Go code.
	$(GOLANGCI_LINT) fmt

.PHONY: lint
lint: ## Run the linters of .golangci.yaml, and Helm's on the chart.
	$(GOLANGCI_LINT) run
	$(HELM) lint --strict --quiet --namespace kurl-addons deploy/chart

.PHONY: verify
verify: ## Check that generated files are current, code is clean, licences are fit and no vulnerability is known.
	tools/gen/stale $(GENERATED)
	@go mod tidy -diff >/dev/null || { echo "Stale: go.mod and go.sum are not as 'go mod tidy' writes them." >&2; exit 1; }
	@$(MAKE) lint licences vulnerabilities

.PHONY: licences
licences: ## Check that the licence of every linked module allows redistribution.
	$(GO_LICENSES) check ./cmd/... --allowed_licenses=$(LICENCES) 2>&1 | (grep -v -e 'non-Go code' -e '\.s$$' || true)

.PHONY: vulnerabilities
vulnerabilities: ## Check linked code against the Go vulnerability database, where that can be reached.
	VULNDB=$(VULNDB) tools/audit/vulnerabilities ./...

.PHONY: test
test: test-unit ## Run every test that a change must pass, also those on a real cluster (needs gcc; the first run builds the cluster).
	@echo "== Tests on a real cluster"
	go build -race ./...
	$(GO_TEST) -p 1 -v ./api/... ./flux/... ./controllers/... ./cmd/... ./e2e/...

.PHONY: test-unit
test-unit: ## Run the tests that need no cluster.
	@echo "== Tests without a cluster"
	$(GO_TEST) -short ./api/... ./addons/... ./flux/...

.PHONY: e2e
e2e: ## Run the user stories on a real cluster; RUN='Install|Remove' selects some.
	$(GO_TEST) -p 1 -v -run='$(RUN)' ./e2e/...

.PHONY: chaos
chaos: ## Break everything around the operator until it was killed 300 times; ARGS='-seed 7 -kills 50' changes that.
	go run ./e2e/chaos $(ARGS)

.PHONY: bench
bench: ## Measure against Flux and Helm on the same charts.
	go run ./e2e/bench

.PHONY: demo
demo: ## Start a cluster with Flux and the operator, and watch a sample Installer become Ready.
	go run ./e2e/demo

.PHONY: demo-down
demo-down: ## Stop the demo's cluster.
	go run ./e2e/demo down

.PHONY: build
build: ## Build bin/manager, static.
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/manager ./cmd/manager

.PHONY: image
image: ## Build the container image with docker.
	docker build --build-arg VERSION=$(VERSION) --tag $(IMAGE) .

.PHONY: clean
clean: ## Remove what was built here.
	rm -rf bin .cache
