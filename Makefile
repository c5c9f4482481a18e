# SPDX-License-Identifier: GPL-2.0
# Every verb a person needs; `make help` lists them.

KVER	?= $(shell uname -r)
KDIR	?= /lib/modules/$(KVER)/build
BUILD	?= $(CURDIR)/build
PLUGINS_DIR ?= $(BUILD)/plugins
TOOLS_DIR ?= $(BUILD)/tools
DESTDIR	?=
PREFIX	?= /usr

.PHONY: help modules plugins tools install uninstall demo test check bench clean setup

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

setup: ## install what a fresh Debian machine lacks
	lab/setup

demo: setup ## compare the disciplines on the papers' dumbbell, in virtual time
	netns-scenarios/demo

test: setup ## prove it all
	.ci/test

clean: ## remove what was built in the tree (build/ keeps the kernels)
	-[ ! -d $(KDIR) ] || $(MAKE) -C $(KDIR) M=$(CURDIR) clean
	rm -rf $(PLUGINS_DIR) $(TOOLS_DIR)
