# SPDX-License-Identifier: GPL-2.0
# Every verb a person needs; `make help` lists them.

KVER	?= $(shell uname -r)
KDIR	?= /lib/modules/$(KVER)/build
BUILD	?= $(CURDIR)/build
PLUGINS_DIR ?= $(BUILD)/plugins
TOOLS_DIR ?= $(BUILD)/tools
VENV	?= $(BUILD)/venv
TESTS	?=
DESTDIR	?=
PREFIX	?= /usr

.PHONY: help modules plugins tools install setup demo kernels test check clean

help: ## list the targets
	@awk -F':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "  KDIR=DIR    build for the kernel whose headers are in DIR (default: the running one)"
	@echo "  KVER=VER    the same, by version, and where modules are installed"

modules: ## build the modules for KDIR
	$(MAKE) -C $(KDIR) M=$(CURDIR) modules

plugins: ## build the tc plugins
	$(MAKE) -C tc PLUGINS_DIR=$(PLUGINS_DIR)

tools: ## build the traffic generator and the queue sampler
	$(MAKE) -C tools TOOLS_DIR=$(TOOLS_DIR)

install: modules plugins ## install modules, plugins and man pages
	$(MAKE) -C $(KDIR) M=$(CURDIR) modules_install
	$(MAKE) -C tc PLUGINS_DIR=$(PLUGINS_DIR) install DESTDIR=$(DESTDIR) PREFIX=$(PREFIX)
	install -d $(DESTDIR)$(PREFIX)/share/man/man8
	install -m 644 man/man8/*.8 $(DESTDIR)$(PREFIX)/share/man/man8

setup: $(VENV)/.ready ## install what a fresh Debian machine lacks

.PHONY: packages
packages:
	lab/setup

$(VENV)/.ready: requirements.txt | packages
	@echo "setup: Python packages into build/venv"
	python3 -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -r requirements.txt
	touch $@

demo: setup ## compare the disciplines on the papers' dumbbell, in virtual time
	$(VENV)/bin/python netns-scenarios/demo

kernels: setup ## build the lab kernels that the tests boot
	lab/boot --build
	lab/boot --build --kernel 6.12
	lab/boot --build --flavour kasan
	lab/boot --build --flavour lockdep

# In the order of the files: the longest, test_checking_kernels and test_selftests, run last
# and side by side; xdist's own order ends with a few slow tests in one process.
test: kernels ## run every test: units, the lab, the real kernel, stock kernels
	$(VENV)/bin/pytest -n 2 --dist loadfile --no-loadscope-reorder $(TESTS)

check: kernels ## checkpatch, sparse, shellcheck, ruff, man pages
	.ci/check

clean: ## remove what was built in the tree (build/ keeps the kernels)
	-[ ! -d $(KDIR) ] || $(MAKE) -C $(KDIR) M=$(CURDIR) clean
	rm -rf $(PLUGINS_DIR) $(TOOLS_DIR)
