# Every command does its own set-up first: a new machine needs nothing but make.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
with_node := . tools/node.sh &&

.PHONY: help run test test-cluster check format docs bench images clean

help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: ## Starts the whole product on this machine and scans the demo site (or URL=http://…)
	@tools/setup
	@$(with_node) exec node local/main.ts $(if $(URL),"$(URL)")

test: ## Every test that needs no cluster (ONLY=api,operator for some rooms)
	@tools/setup --dev
	@$(with_node) exec env -u KUBECONFIG node test/run.ts $(if $(ONLY),--only $(ONLY))

test-cluster: ## The operator's tests and whole scans by real pods on the cluster of KUBECONFIG (ONLY=journey for a part)
	@tools/setup --dev
	@$(with_node) exec node test/cluster/run.ts $(if $(ONLY),--only $(ONLY))

check: ## Format, lint, types, imports between rooms, dead code
	@tools/setup --dev
	@$(with_node) npx prettier --check .
	@$(with_node) npx eslint --max-warnings 0 .
	@$(with_node) npx tsc -p .
	@$(with_node) npx depcruise --config .dependency-cruiser.cjs core platform stores api operator scanner-image cli local
	@$(with_node) npx knip

format: ## Formats all files
	@tools/setup --dev
	@$(with_node) npx prettier --write .

docs: ## Writes the pages of docs/ that are made from the code
	@tools/setup --dev
	@$(with_node) exec node tools/docs.ts

bench: ## Speed beside other scanners, submissions a second, memory of a scanner
	@tools/setup --dev
	@$(with_node) exec node bench/main.ts $(BENCH)

images: ## Builds the container images (docker, podman, buildah, or the command in IMAGE_BUILD)
	@tools/images

clean: ## Forgets the state of `make run` and what set-up installed in this folder
	rm -rf .curbcut node_modules tools/node/node_modules bench/peers/node_modules coverage
