#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# cbt under every parent; and the corners of its configuration, where enqueue
# decides otherwise. The bandwidth makes averages forget between bursts.
set -euo pipefail

cd "$(dirname "$0")"
# shellcheck source-path=SCRIPTDIR source=lib.sh
. ./lib.sh

# What netem held arrives at a new child at once: with the default options more
# than the class may have.
run_parts \
	"$ONE_FIFO -x netem:replace cbt|limit 2 bandwidth 100gbit" \
	"$CORNERS cbt|limit 1 bandwidth 100gbit|limit 1000 bandwidth 100gbit|limit 8 bandwidth 100gbit red all min 1 max 2 weight 0.5|limit 100 bandwidth 100gbit threshold_other 2|limit 100 bandwidth 100gbit min 0.5 max 1 weight 0.9|limit 100 bandwidth 100gbit min 0.5 max 1 weight 0.9 victim arrival"
