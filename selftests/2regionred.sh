#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# 2regionred under every parent; and the corners of its configuration, where enqueue
# decides otherwise: marking, sparing, early drops from the first packet on.
set -euo pipefail

cd "$(dirname "$0")"
# shellcheck source-path=SCRIPTDIR source=lib.sh
. ./lib.sh

# ewma-drain follows the queue down at once, so a lone packet passes after a burst.
early="bandwidth 1mbit rtt 120ms estimator ewma-drain bmin 1 bflat 2 bmax 3 seed 1"
run_parts \
	"$ONE_FIFO 2regionred|limit 2" \
	"$CORNERS 2regionred|limit 1|limit 1000|$early|$early ecn|$early ecn nodrop|$early ecn harddrop nogentle"
