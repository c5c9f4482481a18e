# SPDX-License-Identifier: GPL-2.0
# Every verb a person needs; `make help` lists them.

KVER	?= $(shell uname -r)
KDIR	?= /lib/modules/$(KVER)/build
BUILD	?= $(CURDIR)/build
PLUGINS_DIR ?= $(BUILD)/plugins
TOOLS_DIR ?= $(BUILD)/tools
VENV	?= $(BUILD)/venv
TESTS	?=
override DESTDIR := $(abspath $(DESTDIR))
PREFIX	?= /usr
KIND	?= all
SECONDS	?= 0
AQM_VERSION ?= $(shell tools/version)
AQM_TESTS ?=

# Files in requirements/ for a run in the checkout, with its report and the papers.
RUN_GROUPS := run report pandas papers

KINDS	:= $(patsubst sch_%.c,%,$(filter-out %.mod.c,$(wildcard sch_*.c)))
MODULES	:= sch_aqm.ko $(KINDS:%=sch_%.ko)
PAGES	:= $(wildcard man/man8/*.8)
MANDIR	= $(DESTDIR)$(PREFIX)/share/man/man8
SBINDIR	= $(DESTDIR)$(PREFIX)/sbin
# Where the kernel lists its modules. With DESTDIR it is another machine's.
LOADED	= $(if $(DESTDIR),/nonexistent,/sys/module)

# What the kernel calls itself. Debian's 6.1 headers answer `make kernelrelease` with another.
KRELEASE = $(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' $(KDIR)/include/generated/utsrelease.h)
EXTMOD	= $(MAKE) -C $(KDIR) M=$(CURDIR) AQM_VERSION=$(AQM_VERSION) AQM_TESTS=$(AQM_TESTS)

.PHONY: help headers modules plugins tools doctor install install-modules install-tools
.PHONY: uninstall setup setup-sweeps setup-tests demo demo-picture ledger calibrate release wheel kernels test try test-extra mutants-python test-drivers bench fuzz coverage mutants storm lint format check generate spec deb dist clean clean-cache

help: ## list the targets
	@awk -F':.*## ' '/^[a-z%-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "  KDIR=DIR    build for the kernel whose headers are in DIR (default: the running one)"
	@echo "  KVER=VER    the same, by version"
	@echo "  DESTDIR=DIR install below DIR instead of /"
	@echo "  PREFIX=DIR  where plugins, man pages and doctor go, /usr unless told"
	@echo "  AQM_TESTS=1 build the test modules, too"
	@echo "  AQM_OLD_PARENTS=1  build with the protections that kernels without the fixes of 2025 need"
	@echo "  KIND=KIND, SECONDS=N  what make fuzz looks at, and for how long"
	@echo "  QUICK=1     of a paper what takes minutes, with a seed or so, a report, and no page"
	@echo "  TCP_PROFILE=today  of a paper only the cells with the TCP of today (or: own, bbr, drops, paced)"
	@echo "  PROFILE=slurm  a paper's cells on a cluster: docs/cluster.md"
	@echo "  TESTS=...   run these tests only: make test TESTS=tests/oracle/tdrr"
	@echo "              one of them: make test TESTS=\"tests/build/test_build.py -k clang\""
	@echo "              with no kernel built first: build/venv/bin/pytest tests/unit/test_unit.py"

headers: ## check that KDIR has what modules are built with
	@[ -e $(KDIR)/Makefile ] || { \
		echo "No kernel headers in $(KDIR). On Debian: apt-get install linux-headers-$(KVER)" >&2; \
		echo "Other headers: make KDIR=DIR" >&2; exit 1; }

modules: headers ## build the modules for KDIR
	$(EXTMOD) modules

plugins: ## build the tc plugins
	$(MAKE) -C tc PLUGINS_DIR=$(PLUGINS_DIR) AQM_VERSION=$(AQM_VERSION)

tools: ## build the traffic generator and the queue sampler
	$(MAKE) -C lab/traffic TOOLS_DIR=$(TOOLS_DIR)

doctor: ## say what keeps the disciplines from working here
	@tools/sch-aqm-doctor

install: install-modules install-tools ## install modules, plugins, man pages and doctor

# Test modules are never installed. Debian's kernels ask for a signature by a key
# that its headers lack, and the kernel's own depmod for a System.map that they lack.
install-modules: override AQM_TESTS =
install-modules: modules ## install the modules only
	$(EXTMOD) KERNELRELEASE=$(KRELEASE) INSTALL_MOD_PATH=$(DESTDIR) INSTALL_MOD_DIR=updates \
		INSTALL_MOD_STRIP=1 cmd_depmod=: quiet_cmd_depmod= \
		$(if $(wildcard $(KDIR)/certs/signing_key.pem),,CONFIG_MODULE_SIG_ALL=) modules_install
	$(call depmod,$(KRELEASE))

# $(call depmod,RELEASE): below a DESTDIR that will become a package there are only our
# modules, and nothing to map.
depmod = [ ! -e $(DESTDIR)/lib/modules/$(1)/modules.builtin ] || depmod $(DESTDIR:%=-b %) $(1)

# The pages' footers name the version; outside the tree doctor cannot look it up.
install-tools: plugins ## install plugins, man pages and doctor only
	$(MAKE) -C tc PLUGINS_DIR=$(PLUGINS_DIR) AQM_VERSION=$(AQM_VERSION) install \
		DESTDIR=$(DESTDIR) PREFIX=$(PREFIX)
	install -d $(MANDIR) $(SBINDIR)
	install -m 644 $(PAGES) $(MANDIR)
	sed -i '/^\.TH/s/"sch-aqm"/"sch-aqm $(AQM_VERSION)"/' $(addprefix $(MANDIR)/,$(notdir $(PAGES)))
	install -m 755 tools/sch-aqm-doctor $(SBINDIR)
	sed -i -e 's/^version=$$/version=$(AQM_VERSION)/' \
		-e 's/^kinds=$$/kinds="$(KINDS)"/' $(SBINDIR)/sch-aqm-doctor

# From every kernel: who installed for one and upgraded has them in two.
uninstall: ## remove all that install installed
	@set -e; cd $(DESTDIR)/lib/modules 2>/dev/null || exit 0; \
	for kernel in *; do \
		[ -d $$kernel/updates ] || continue; \
		gone=$$(find $$kernel/updates -maxdepth 1 -type f \
			\( -false $(foreach m,$(MODULES),-o -name '$(m)*') \) -print -delete); \
		[ "$$gone" ] || continue; \
		echo removed $$gone; \
		rmdir --ignore-fail-on-non-empty $$kernel/updates; \
		$(call depmod,$$kernel); \
	done
	$(MAKE) -C tc uninstall DESTDIR=$(DESTDIR) PREFIX=$(PREFIX)
	rm -f $(addprefix $(MANDIR)/,$(notdir $(PAGES))) $(SBINDIR)/sch-aqm-doctor
	@for module in $(KINDS:%=sch_%) sch_aqm; do \
		[ ! -e "$(LOADED)/$$module" ] || in_use="$$in_use $$module"; \
	done; \
	[ -z "$$in_use" ] || echo "still in the kernel:$$in_use. Delete the disciplines" \
		"(tc qdisc del dev DEVICE root), then: rmmod$$in_use; or reboot."

# Install the packages that a run needs. `make setup-tests` adds packages for sweeps and tests.
setup: $(VENV)/.ready $(VENV)/.found ## install what a run needs and a fresh Debian machine lacks
setup-sweeps: setup $(VENV)/.sweeps-ready ## install what sweeps on a cluster need, too
setup-tests: setup $(VENV)/.sweeps-ready $(VENV)/.tests-ready ## install all that tests and checks need

.PHONY: packages packages-tests
packages: ## install the Debian packages that a run needs
	lab/setup run
packages-tests: ## install the Debian packages that tests need
	lab/setup run tests

# $(call pip,GROUPS): the packages of files in requirements/, into the virtual environment.
define pip
@echo "setup: Python packages into build/venv: $(1)"
$(VENV)/bin/pip install --quiet --disable-pip-version-check $(foreach group,$(1),-r requirements/$(group).txt)
touch $@
endef

$(VENV)/.ready: $(RUN_GROUPS:%=requirements/%.txt) | packages
	python3 -m venv $(VENV)
	$(call pip,$(RUN_GROUPS))

$(VENV)/.found: lab/find_packages.py | $(VENV)/.ready
	$(VENV)/bin/python3 lab/find_packages.py
	touch $@

$(VENV)/.sweeps-ready: requirements/sweeps.txt | $(VENV)/.ready
	$(call pip,sweeps)

$(VENV)/.tests-ready: requirements/tests.txt requirements/completion.txt | packages-tests $(VENV)/.ready
	$(call pip,tests completion)

demo: setup ## each discipline beside mainline's, in five workloads
	netns-scenarios/demo

demo-picture: demo ## the picture of its report in docs
	cp out/demo/report.svg docs/report.svg

# As long as its cells take; interrupted, the same command goes on. All cores, or JOBS. ARGS are
# further options of netns-scenarios/paper.
paper-%: $(if $(PROFILE),setup-sweeps,setup) ## run what is missing of a paper's cells, and write its page in docs/results
	netns-scenarios/paper $* $(if $(TCP_PROFILE)$(ERA),--tcp-profile $(or $(TCP_PROFILE),$(ERA))) \
		$(if $(JOBS),--jobs $(JOBS)) $(if $(PROFILE),--profile $(PROFILE)) $(if $(QUICK),--quick) $(ARGS)

ledger: setup ## write docs/results from the claims and results that are in the repository
	netns-scenarios/ledger

calibrate: setup ## run the lab beside theory, for docs/results/calibration.md
	netns-scenarios/calibrate

release: setup-tests ## write wheel, sources, Debian packages and checksums to build/release
	tools/release $(BUILD)/release

wheel: setup ## build the wheel that needs no compiler: build/dist
	tools/wheel

kernels: setup-tests ## build the lab kernel that the tests boot
	lab/boot --build

# Slow tests one by one, then the others by file, in the order that tests/conftest.py makes.
PYTEST = $(VENV)/bin/pytest -n 2 --dist loadgroup --no-loadscope-reorder

test: kernels ## run the tests: units, the lab, the real kernel, stock kernels
	$(PYTEST) -m "not extra" $(TESTS)

# One kernel, one discipline: for who changes it.
try: setup-tests ## the tests of one discipline, with one seed for each case: make try KIND=qsdrr
	+$(MAKE) -s -j2 --output-sync=target try-matrix try-tests

try-tests:
	$(PYTEST) -q -m "not extra and not again" -k "$(KIND) and not fuzz and not sanitizer" \
		tests/unit tests/oracle tests/tdc tests/tc/test_man_pages.py tests/contract/test_userspace.py

try-matrix:
	$(MAKE) -s -C selftests
	lab/boot -- selftests/parents.sh -p root -p drr -p hfsc-ls:prio $(KIND)

test-extra: kernels ## run what make test leaves out: kernels that check memory and locks, two CPUs, planted errors, fuzzing, a committed row again, the effect of every parameter, more kernels and headers, all drivers' tests, a Slurm cluster, all stacked devices
	lab/boot --build --flavour checked
	lab/boot --build --flavour smp
	$(PYTEST) -m extra $(TESTS)

mutants-python: setup-tests ## change published numbers' Python in SAMPLE places, and see whether a test fails; SEED=
	$(VENV)/bin/python tools/mutants-python $(if $(SEED),--seed $(SEED)) $(if $(SAMPLE),--sample $(SAMPLE))

test-drivers: setup-tests ## every discipline on a real driver in Debian's kernels; resumes
	$(VENV)/bin/pytest -s --durations=0 $(or $(TESTS),tests/drivers)

bench: setup-tests ## count what a packet costs, of ours and of mainline's, into docs/performance.md
	bench/run --whole --write

# The corpus stays in build/fuzz, so that the next run goes on from there; so does what is found.
fuzz: setup-tests ## look for what breaks a discipline, for SECONDS, or until interrupted; KIND=
	selftests/userspace/fuzz $(KIND) $(SECONDS)

coverage: setup-tests ## which share of lines and branches of the C the user-space tests run; ARGS=--missed
	$(VENV)/bin/python tools/coverage $(ARGS)

mutants: setup-tests ## change one thing in the C, and see whether a test fails; N of them, SEED; resumes
	$(VENV)/bin/python tools/mutants-c $(if $(N),--sample $(N)) $(if $(SEED),--seed $(SEED))

storm: setup-tests ## random events on random stacks of devices and disciplines; COUNT storms (20), SEED; resumes
	tools/storm $(or $(COUNT),20) $(SEED)

lint: setup-tests ## shellcheck, ruff, mypy, man pages: seconds
	.ci/lint

format: setup-tests ## format the Python files, then lint
	.ci/lint --format

check: setup-tests ## lint, checkpatch and sparse; builds no kernel
	.ci/check

generate: plugins ## write README's table and the options in man pages
	@mkdir -p $(BUILD)
	tools/generate
	tools/man-options $(PLUGINS_DIR)

spec: setup-tests ## write the netlink interface as a YAML spec for the kernel's ynl tool
	@mkdir -p $(BUILD)/netlink
	$(VENV)/bin/python tools/netlink-spec > $(BUILD)/netlink/tc-aqm.yaml
	@echo wrote $(BUILD)/netlink/tc-aqm.yaml

deb: ## build Debian packages: sch-aqm-dkms, iproute2-aqm
	tools/deb $(BUILD)/deb

# There is no git in it to tell the version by.
dist: override AQM_VERSION := $(AQM_VERSION:%.dirty=%)
dist: ## archive the last commit's source
	@mkdir -p $(BUILD)
	echo $(AQM_VERSION) >$(BUILD)/VERSION
	git archive --prefix=sch-aqm-$(AQM_VERSION)/ --add-file=$(BUILD)/VERSION \
		-o $(BUILD)/sch-aqm-$(AQM_VERSION).tar.gz HEAD . ':!VERSION'

# Built files of the modules. The kernel's own clean removes them only if its headers are installed.
BUILT	= *.o *.ko *.mod *.mod.c .*.cmd Module.symvers modules.order .modules.order

clean: ## remove what was built in the tree
	find . -path ./build -prune -o -path ./.git -prune -o -path ./out -prune -o -type f \
		\( -false $(foreach name,$(BUILT),-o -name '$(name)') \) -exec rm -f {} +
	rm -rf $(PLUGINS_DIR) $(TOOLS_DIR) $(BUILD)/deb

clean-cache: ## remove the kernels, sources, packages and results of Python that all checkouts of a user share
	lab/boot --clean-cache
