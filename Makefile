# The commands of this repository. `make test` does everything, from a bare clone on
# Debian or Ubuntu; `make help` lists the rest.

KERNELS    := 6.12,6.1,6.1-byte
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOLANGCI   := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

# ./... leaves out folders that begin with a dot.
RUNNER := ./.ci/vm ./.ci/vm/testdata/guest
# Modules of their own, so that what they need stays out of the main one.
MODULES := $(patsubst ./%/go.mod,%,$(shell find . -mindepth 2 -name go.mod -not -path './.*' | sort))
# Packages that must work whatever the byte order and the size of a word.
PURE := ./encode/... ./tracepoint

FUZZTIME  ?= 30s
BENCH     ?= .
BENCHTIME ?= 1000x
DIR       ?= .
PKG       ?= ./...
# Variables of the command line reach the recipes through the environment, so
# that the shell does not read a | in a pattern.
export FUZZTIME BENCH BENCHTIME RUN APPEND KEEP

# A clone that belongs to somebody else has no version that go may read.
export GOFLAGS := $(GOFLAGS) -buildvcs=false

VM := CGO_ENABLED=0 go run ./.ci/vm
comma := ,
say = @printf '\n== %s\n'

.NOTPARALLEL:
.DEFAULT_GOAL := help

.PHONY: help
help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: test
test: deps check unit cross emulated vm-selftest vm-test vm-modules vm-lsm ## everything: checks, tests, cross builds, tests on three kernels
	$(say) 'all passed'

.PHONY: deps
deps: ## install what is missing, as root or with sudo
	@.ci/deps

.PHONY: check
check: ## gofmt, go vet, staticcheck
	$(say) 'gofmt, vet, staticcheck'
	@unformatted=$$(gofmt -s -l .) && [ -z "$$unformatted" ] || { echo "not formatted, run gofmt -s -w on:"; echo "$$unformatted"; exit 1; }
	go vet ./... $(RUNNER)
	go run $(STATICCHECK) ./... $(RUNNER)
	for m in $(MODULES); do (cd $$m && go vet ./... && go run $(STATICCHECK) ./...) || exit 1; done

.PHONY: lint
lint: check ## check, then the linters of .golangci.yml
	$(say) 'golangci-lint'
	go run $(GOLANGCI) run ./... $(RUNNER)
	for m in $(MODULES); do (cd $$m && go run $(GOLANGCI) run ./...) || exit 1; done

.PHONY: unit
unit: ## unit tests with the race detector
	$(say) 'unit tests'
	go test -race ./... ./.ci/vm
	for m in $(MODULES); do (cd $$m && go test -race ./...) || exit 1; done

.PHONY: cross
cross: ## build everything, tests included, for other systems
	$(say) 'cross builds'
	@.ci/cross

.PHONY: emulated
emulated: ## the pure packages on a big-endian and on a 32-bit processor
	$(say) 'pure packages on s390x and arm'
	CGO_ENABLED=0 GOARCH=s390x go test -exec qemu-s390x $(PURE)
	CGO_ENABLED=0 GOARCH=arm go test -exec qemu-arm $(PURE)

.PHONY: kernels
kernels: ## build the kernels that the guests run, once; takes minutes
	$(say) 'kernels'
	@for k in $(subst $(comma), ,$(KERNELS)); do .ci/kernel/build.sh $$k || exit 1; done

.PHONY: vm-selftest
vm-selftest: kernels ## does the VM runner notice guests that panic, hang or run nothing?
	$(say) 'the VM runner itself'
	go test -count=1 -timeout 30m ./.ci/vm -run Guest -guests

.PHONY: vm-lsm
vm-lsm: ## what the library says on a kernel that is locked down, and under an AppArmor profile
	$(say) 'a locked-down kernel, and AppArmor'
	@$(VM) test -kernel 6.12 -append 'lsm=lockdown lockdown=confidentiality' ./uevents -- -test.run=TestLockedDown
	@$(VM) test -kernel 6.12 -append 'lsm=apparmor' ./uevents -- -test.run=TestAppArmorProfile

.PHONY: vm-test
vm-test: ## tests in a guest: KERNEL=6.12 PKG=./uevents RUN=-test.run=TestX APPEND='lsm=lockdown'
	$(say) 'tests on kernel $(or $(KERNEL),$(KERNELS))'
	@set -f; $(VM) test -kernel $(or $(KERNEL),$(KERNELS)) -C $(DIR) -append "$$APPEND" $(PKG) -- $$RUN

.PHONY: vm-modules
vm-modules: ## tests of the nested modules in a guest, and each benchmark once: KERNEL=6.12
	$(say) 'nested modules on kernel $(or $(KERNEL),6.12)'
	@for m in $(MODULES); do $(VM) test -kernel $(or $(KERNEL),6.12) -C $$m ./... -- -test.bench=. -test.benchtime=1x || exit 1; done

.PHONY: vm-count
vm-count: ## count instructions of benchmarks: KERNEL=6.12 DIR=. PKG=./uevents BENCH=Write BENCHTIME=1000x
	@set -f; $(VM) bench -kernel $(or $(KERNEL),6.12) -C $(DIR) $(PKG) -- \
	  -test.bench="$$BENCH" -test.benchtime="$$BENCHTIME" -test.benchmem $$RUN

.PHONY: vm-bench
vm-bench: ## count the instructions of all contenders; fails where one takes 2 % more than is kept (KEEP=1 keeps)
	@.ci/bench count

.PHONY: vm-bench-time
vm-bench-time: ## their times in a guest with two processors, as ratios (KEEP=1 keeps)
	@.ci/bench time

.PHONY: bench
bench: ## their times on this machine (KEEP=1 keeps)
	@.ci/bench native

.PHONY: vm-shell
vm-shell: ## a shell in a guest: KERNEL=6.12
	@$(VM) shell -kernel $(or $(KERNEL),6.12) -append "$$APPEND"

.PHONY: fuzz
fuzz: ## every fuzz target in turn: FUZZTIME=30s
	@.ci/fuzz
