# Every command installs what it needs first: a new machine needs nothing but make.
ifeq ($(shell command -v bash),)
$(error Curbcut's commands need bash: install it, then run this again (Alpine: apk add bash))
endif
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
with_node := . tools/node.sh &&
comma := ,
packages := core report platform stores api operator scanner-image cli local demo-site

.PHONY: help run test test-cluster lint check format docs pictures bench parity act images release-dry-run clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: ## Start Curbcut on this machine and scan the demo site (or URL=http://…)
	@tools/setup
	@$(with_node) exec node local/main.ts $(if $(URL),"$(URL)")

test: ## Run all tests that need no cluster (ONLY=api,operator for some suites, SINCE=REF for what a change reaches)
	@tools/setup --dev
	@$(with_node) exec env -u KUBECONFIG node test/run.ts $(if $(ONLY),--only $(ONLY)) $(if $(SINCE),--since $(SINCE))

test-cluster: ## Run the cluster tests on the cluster of KUBECONFIG (ONLY=journey,chart for some parts)
	@tools/setup --dev
	@$(with_node) exec node test/cluster/run.ts $(if $(ONLY),--only $(ONLY))

lint: ## Check format, lint, types, imports between packages, unused code, generated files and the size of packages
	@tools/setup --dev
	@$(MAKE) --no-print-directory --jobs 2 --output-sync --keep-going $(checks)

# Two at a time, because each uses one core; the longest first.
checks := lint-rules lint-types lint-format lint-imports lint-unused lint-generated lint-size
.PHONY: $(checks)
lint-rules: ; @$(with_node) npx eslint --max-warnings 0 .
lint-types: ; @$(with_node) node_modules/typescript-native/bin/tsc -p .
lint-format: ; @$(with_node) npx prettier --check .
lint-imports: ; @$(with_node) npx depcruise --config .dependency-cruiser.mjs $(packages)
lint-unused: ; @$(with_node) npx knip
lint-generated: ; @$(with_node) node tools/docs.ts --check && node tools/web-font.ts --check
lint-size: ; @$(with_node) node tools/size.ts

check: lint ## The same, and facts stated in several places
	@$(with_node) exec env -u KUBECONFIG node test/run.ts --only facts

format: ## Format all files
	@tools/setup --dev
	@$(with_node) npx prettier --write .

docs: ## Write what is generated from the code: pages of docs/, scan options in crds/ and the chart's copy of it
	@tools/setup --dev
	@$(with_node) exec node tools/docs.ts

pictures: ## Take the pictures of README.md into docs/pictures/
	@tools/setup --dev
	@$(with_node) exec node tools/pictures.ts

bench: ## Measure speed beside other scanners, submissions per second, memory (BENCH="--help" for options)
	@tools/setup --dev
	@$(with_node) exec node bench/main.ts $(BENCH)

parity: ## Compare the scanner's findings with a plain run of axe-core, node by node (URLS=file)
	@tools/setup --dev
	@$(with_node) exec node tools/parity.ts $(if $(REST),--rest $(REST)) $(URLS)

act: ## Scan the W3C's ACT test cases and write docs/contributing/act.md (CASES=folder, SOURCE="commit or date")
	@tools/setup --dev
	@$(with_node) exec node tools/act.ts $(if $(SOURCE),--source "$(SOURCE)") $(if $(CASES),"$(CASES)")

images: ## Build the container images (with docker, podman, buildah, or the command in IMAGE_BUILD)
	@tools/images

release-dry-run: ## Build the chart, the command line and the images of a release, and publish nothing (IMAGES=cli,service for some)
	@tools/setup --build
	@exec tools/release/dist $(subst $(comma), ,$(IMAGES))

clean: ## Remove the state of `make run` and everything that the commands installed in this folder
	rm -rf .curbcut dist node_modules tools/node/node_modules bench/peers/node_modules coverage
