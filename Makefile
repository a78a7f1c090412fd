# The commands of this repository. `make test` is the quick tier, which needs git, make, a POSIX shell with its utilities, and Go;
# `make test-all` runs everything, on Debian or Ubuntu; `make help` lists the rest.

# The kernel of the quick tier is a program of the host (User Mode Linux). MAIN has what that one cannot have, and all that
# counts instructions. The others differ in the interface, the processor or the version.
QUICK_KERNEL := 6.12-uml
MAIN         := 6.12
OTHERS       := 6.1,6.1-byte,7.3,6.12-arm64
GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
VULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.8.0

# ./... leaves out folders that begin with a dot.
RUNNER := ./.ci/vm ./.ci/vm/testdata/... ./.ci/perfetto ./.ci/release/...
# Modules of their own, so that what they need stays out of the main one.
MODULES := $(patsubst ./%/go.mod,%,$(shell find . -mindepth 2 -name go.mod -not -path './.*' | sort))
# All packages, which go.work brings together: one call of go test keeps the processors busy to its end. The large ones
# come first.
PACKAGES := $(MODULES:%=./%/...) ./...
# What programs link, tests included.
LIBRARY := ./... ./exporter/... ./exporter/ueventslog/... ./exporter/internal/conformance/... ./sloghandler/oteltrace/... ./examples/metrics/...
# Packages that must work whatever the byte order and the size of a word.
PURE := ./encode/... ./internal/eventheader ./tracepoint ./uevents/ueventstest ./internal/perf ./internal/memory/layout ./internal/memory/ring ./record/where
# Packages whose tests could: those with package uevents in them.
TOUCHING = $(shell GOOS=linux go list -test -f '{{.ForTest}} {{.Deps}}' $(PACKAGES) | awk '/userevents-go\/uevents[] ]/ && $$1 ~ /\// { print $$1 }' | sort -ru)

FUZZTIME  ?= 30s
SOAK      ?= 1h
BENCH     ?= .
BENCHTIME ?= 1000x
PKG       ?= ./...
# Variables of the command line reach the recipes through the environment, so
# that the shell does not read a | in a pattern.
export FUZZTIME SOAK BENCH BENCHTIME RUN APPEND KEEP

# COMPLETE=1 makes it a failure that a step lacks a program or a kernel, and adds what needs them. CI sets it.
COMPLETE ?=
export COMPLETE

# The guests need programs without cgo. With one setting for all steps, packages are compiled once. The race detector alone needs cgo.
export CGO_ENABLED := 0

# A clone that belongs to another user has no version that go may read. Tests compare the names of their files.
export GOFLAGS := $(GOFLAGS) -buildvcs=false -trimpath=false

# What the caller's environment says to programs with this library, to the Go command and in another language is not for tests.
unexport GOWORK GO111MODULE $(filter OTEL_% USER_EVENTS_%,$(.VARIABLES))
export LC_ALL := C

VM := go run ./.ci/vm
comma := ,
say = @printf '\n== %s\n'

.NOTPARALLEL:
.DEFAULT_GOAL := help

.PHONY: help
help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Steps, in this order: of make test, of CI, and what CI leaves out.
QUICK := unit vm-$(QUICK_KERNEL)
CI    := kernels test lint release versions unit-race cross emulated vm-6.12 vm-6.1 vm-6.1-byte
REST  := vm-7.3 vm-6.12-arm64 vm-command vm-host vm-lsm vm-selftest

.PHONY: test
test: ## the quick tier: tests on this machine as it is, and kernel tests in User Mode Linux if make kernels has built it
	@.ci/run $(QUICK)

.PHONY: ci
ci: COMPLETE := 1
ci: ## what CI runs: make test with nothing missing, checks, the race detector, cross builds, more kernels
	@.ci/run $(CI)

.PHONY: test-all
test-all: COMPLETE := 1
test-all: ## everything: what CI runs, all other kernels, guests that play hosts, LSMs, the guests' runner
	@.ci/run $(CI) $(REST)

.PHONY: deps
deps: ## install what is missing, as root or with sudo
	@.ci/deps

.PHONY: lint
lint: ## gofmt, go generate, and the linters of .golangci.yml, go vet and staticcheck among them
	$(say) 'gofmt, golangci-lint, go generate'
	@unformatted=$$(gofmt -s -l .) && [ -z "$$unformatted" ] || { echo "not formatted, run gofmt -s -w on:"; echo "$$unformatted"; exit 1; }
	go run $(GOLANGCI) run $(PACKAGES) $(RUNNER)
	@cd collector/usereventsreceiver && sums() { git ls-files -co --exclude-standard -z . | xargs -0 cksum; } && before=$$(sums) && \
	  go generate && [ "$$before" = "$$(sums)" ] || { echo 'go generate has changed files of collector/usereventsreceiver: commit them'; exit 1; }

.PHONY: tidy
tidy: ## go mod tidy in all modules, whose requirements of each other no proxy has before a release
	go run ./.ci/release tidy

.PHONY: api
api: ## record the public API in api/
	go run ./.ci/release api

.PHONY: licences
licences: ## write the licences of dependencies into THIRD_PARTY.md
	@.ci/licences

.PHONY: release-prepare
release-prepare: ## make the unreleased changes those of a release: VERSION=v0.1.0
	go run ./.ci/release prepare '$(VERSION)'

.PHONY: release-check
release-check: ## check the commit as a release, and write its binaries: VERSION=v0.1.0 OUT=DIR
	go run ./.ci/release check '$(VERSION)' '$(OUT)'
	$(if $(OUT),.ci/licences save '$(OUT)/licences')

.PHONY: release-tag
release-tag: ## the same, and tag all modules, here only
	go run ./.ci/release tag '$(VERSION)' '$(OUT)'

.PHONY: vulncheck
vulncheck: ## known vulnerabilities in what is imported; needs https://vuln.go.dev
	for m in . $(MODULES); do (cd $$m && go run $(VULNCHECK) ./...) || exit 1; done

# The document that names tests for faults: each of them has to run and pass, without the race detector.
PROOFS := -proofs docs/reliability.md
# The tests that this machine has skipped since they need a guest, which every kernel runs. A run of several steps has its own list.
LIST := -list "$${USEREVENTS_LIST:-.build/guest-tests.json}"
# With exec, the signal that ends make reaches it.
VMTEST = exec $(VM) test $(if $(COMPLETE),-complete)

# The tests of a whole Collector, which .ci/collector builds.
COLLECTOR_TESTS := ./collector/distribution/internal/collectortest
# Tests on this machine. A complete run has those of a whole Collector, too, more random inputs, and each benchmark once, as a test does:
# the flags go to the tests themselves, since go test -bench runs one package at a time.
UNIT = $(if $(COMPLETE),$(PACKAGES) -args -test.bench=. -test.benchtime=1x,$(filter-out $(COLLECTOR_TESTS)/...,$(PACKAGES)) -short)
# Modules that run other programs or measure: the race detector sees nothing there that it does not see in the packages
# that they use.
RACE_PACKAGES = $(filter-out ./benchmarks/... ./examples/% ./collector/distribution/%,$(PACKAGES))

.PHONY: unit
unit: ## tests on this machine, which they do not change
	$(say) 'tests on this machine; the first line comes when they are compiled, which can take minutes'
	@$(VMTEST) -kernel '' $(PROOFS) $(LIST) $(UNIT)
	@$(if $(COMPLETE),go test ./.ci/vm)

.PHONY: release
release: ## tests of the releases: the recorded API, licences, modules as users get them
	$(say) 'releases'
	go test ./.ci/release/internal/...
	go test -count=1 -timeout 60m ./.ci/release # go test does not know that it reads the other modules
	.ci/licences check

.PHONY: versions
versions: ## the modules that programs import with the lowest and newest requirements, and those of the last release with this library
	$(say) 'requirements, lowest and newest'
	@.ci/versions

.PHONY: unit-race
unit-race: deps ## the same with the race detector
	$(say) 'tests on this machine, with the race detector'
	@export CGO_ENABLED=1 && $(VMTEST) -kernel '' $(RACE_PACKAGES) -race

.PHONY: cross
cross: deps ## build everything, tests included, for other systems
	$(say) 'cross builds'
	@.ci/cross

.PHONY: emulated
emulated: deps ## the pure packages on a big-endian and on a 32-bit processor, the rings of shared memory also on arm64
	$(say) 'pure packages on s390x and arm, rings on arm64'
	GOARCH=s390x go test -exec qemu-s390x $(PURE)
	GOARCH=arm go test -exec qemu-arm $(PURE)
	GOARCH=arm64 go test -exec qemu-aarch64 ./internal/memory/layout ./internal/memory/ring

.PHONY: kernels
kernels: deps ## build the kernel of make test, once, which takes minutes; COMPLETE=1: all kernels of CI
	$(say) 'kernels'
	@# Two at a time, since unpacking and linking leave one processor idle.
	@printf '%s\n' $(QUICK_KERNEL) $(if $(COMPLETE),$(patsubst vm-%,%,$(filter vm-%,$(CI)))) | grep -v byte | xargs -n 1 -P 2 .ci/kernel/build.sh

.PHONY: kernel-table
kernel-table: ## write the versions of the kernels into docs/compatibility.md
	@.ci/kernel/table $(QUICK_KERNEL) $(MAIN) $(subst $(comma), ,$(OTHERS))

.PHONY: outputs
outputs: ## write the output of the command into the documents that show it
	@.ci/outputs

.PHONY: site
site: ## build the site of the documents, in .ci/site/.vitepress/dist; needs npm
	@.ci/site/build

.PHONY: collector
collector: ## build the Collector that tests run, with the modules of this checkout: minutes once, then seconds
	$(say) 'the Collector'
	.ci/collector

.PHONY: vm-selftest
vm-selftest: deps ## does the VM runner notice guests that panic, hang or run nothing?
	$(say) 'the VM runner itself'
	go test -count=1 -timeout 60m ./.ci/vm -run Guest -guests

.PHONY: vm-lsm
vm-lsm: deps ## what the library says on a kernel that is locked down, and under an AppArmor profile
	$(say) 'a locked-down kernel, and AppArmor'
	@$(VM) test -kernel $(MAIN) -append 'lsm=lockdown lockdown=confidentiality' ./uevents -run=TestLockedDown
	@$(VM) test -kernel $(MAIN) -append 'lsm=apparmor' ./uevents -run=TestAppArmorProfile

# The least number of tests that use the kernel and pass (subtests and benchmarks count). Raise a number when you add tests. A
# choice of tests has no such number.
LEAST_6.12-uml   := 200
LEAST_6.12       := 205
LEAST_6.1        := 115
LEAST_6.1-byte   := 130
LEAST_7.3        := 135
LEAST_6.12-arm64 := 145
# What runs on a kernel: all tests that need one, or where the interface is the same as elsewhere those of the library. The
# command's scripts take the longest: QEMU runs them in a step of their own, and of the benchmarks the one that needs uprobes.
COMMAND := ./cmd/uevents/internal/cli
SHORT   := -short -bench=^$$
ON_6.12 := $(filter-out ./cmd/uevents/...,$(PACKAGES)) ./cmd/uevents/internal/flight -bench=Uprobe
ON_6.1 := $(LIBRARY) $(SHORT)
ON_6.1-byte := $(LIBRARY) $(SHORT)
ON_7.3 := $(LIBRARY) $(COLLECTOR_TESTS) $(SHORT)
ON_6.12-arm64 := $(LIBRARY) $(SHORT)

KERNEL_STEPS := $(sort $(addprefix vm-,$(QUICK_KERNEL) $(MAIN) $(subst $(comma), ,$(OTHERS))))
.PHONY: $(KERNEL_STEPS)
$(filter-out vm-$(QUICK_KERNEL),$(KERNEL_STEPS)): deps
$(KERNEL_STEPS): vm-%:
	$(say) 'tests that need a kernel, on $*'
	@$(if $(COMPLETE),$(if $(filter 6.1 6.1-byte %-arm64,$*),,.ci/collector))
	@$(VMTEST) $(if $(COMPLETE),-minimum $(LEAST_$*),$(if $(filter $(QUICK_KERNEL),$*),-optional)) $(PROOFS) $(LIST) -kernel $* $(ON_$*)

.PHONY: vm-command
vm-command: deps ## the command's scripts on kernels with several processors, and on other interfaces
	$(say) "the command's scripts, on 6.12, 6.1 and 7.3"
	@$(VMTEST) $(PROOFS) -kernel 6.12 $(LIST) $(COMMAND) -bench=^$$
	@$(VMTEST) $(PROOFS) -kernel 6.1 $(LIST) $(COMMAND) $(SHORT)
	@$(VMTEST) $(PROOFS) -kernel 7.3 $(LIST) $(COMMAND) $(SHORT)

.PHONY: vm-test
vm-test: ## tests in guests: KERNEL=6.12-uml PKG=./uevents RUN='-run=TestX -v' APPEND='lsm=lockdown'
	@set -f; $(VM) test -kernel $(or $(KERNEL),$(QUICK_KERNEL)) -append "$$APPEND" $(PKG) $$RUN

.PHONY: vm-collector
vm-collector: deps collector ## a million records of four programs through a Collector: each arrives or is counted. KERNEL=6.12
	@for kernel in $(or $(KERNEL),$(MAIN) 7.3); do \
	  $(VM) test -silence 30m -kernel $$kernel $(COLLECTOR_TESTS) -timeout=60m -v -run=TestEveryRecordIsCounted -records=1000000 || exit 1; done

.PHONY: vm-host
vm-host: deps ## guests play machines with user_events: go test changes nothing there
	$(say) 'go test on a machine with user_events'
	@$(VM) test -as-host -kernel $(MAIN) -append lsm=apparmor $(TOUCHING) -short
	@$(VM) test -as-host -kernel 6.1 -append lsm=apparmor ./uevents ./internal/tracefs ./internal/perf ./structevent -short

.PHONY: vm-count
vm-count: ## count instructions of benchmarks: KERNEL=6.12 PKG=./uevents BENCH=Write BENCHTIME=1000x
	@set -f; $(VM) bench -accel icount -kernel $(or $(KERNEL),$(MAIN)) $(PKG) \
	  -bench="$$BENCH" -benchtime="$$BENCHTIME" -benchmem $$RUN

.PHONY: vm-bench
vm-bench: ## count the instructions of all contenders; fails where one takes 2 % more than is kept (KEEP=1 keeps)
	@.ci/bench count

.PHONY: vm-bench-time
vm-bench-time: ## their times in a guest with two processors (KEEP=1 keeps)
	@.ci/bench time

.PHONY: vm-bench-rate
vm-bench-rate: ## a million records at full rate through the command, in a guest with two processors: its processor time and memory (KEEP=1 keeps)
	@.ci/bench rate

.PHONY: vm-bench-collector
vm-bench-collector: deps ## a Collector in a guest that counts instructions, user_events against file_log: processor time, memory, latency, losses (KEEP=1 keeps)
	@.ci/bench collector

.PHONY: bench
bench: ## their times on this machine (KEEP=1 keeps)
	@.ci/bench native

.PHONY: bench-memory
bench-memory: ## times of shared memory and of LTTng-UST on this machine, in turns (KEEP=1 keeps)
	@.ci/bench memory

.PHONY: vm-shell
vm-shell: ## a shell in a guest: KERNEL=6.12-uml
	@$(VM) shell -kernel $(or $(KERNEL),$(QUICK_KERNEL)) -append "$$APPEND"

.PHONY: soak
soak: ## writers, a reader and faults in a guest: SOAK=1h KERNEL=6.12 (KEEP=1 keeps the results)
	@.ci/soak

.PHONY: fuzz
fuzz: ## every fuzz target in turn: FUZZTIME=30s (KEEP=1 keeps the numbers of inputs)
	@.ci/fuzz
