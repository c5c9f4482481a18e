#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# qsdrr under every parent; and the corners of its configuration, where enqueue
# decides otherwise.
set -euo pipefail

cd "$(dirname "$0")"
# shellcheck source-path=SCRIPTDIR source=lib.sh
. ./lib.sh

run_parts \
	"qsdrr|limit 2" \
	"$CORNERS qsdrr|limit 1|limit 1000|memory_limit 1|memory_limit 8kb|limit 8 flows 1|limit 8 nohysteresis"
