#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# tdrr under every parent; and the corners of its configuration, where enqueue
# decides otherwise.
set -euo pipefail

cd "$(dirname "$0")"
# shellcheck source-path=SCRIPTDIR source=lib.sh
. ./lib.sh

run_parts \
	"tdrr|limit 2" \
	"$CORNERS tdrr|limit 1|limit 1000|memory_limit 1|memory_limit 8kb|limit 8 flows 1|limit 8 time_constant 1ms"
