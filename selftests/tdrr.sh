#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# tdrr under every parent: one set of options in every case, the corners of the
# configuration where enqueue decides.
set -euo pipefail

cd "$(dirname "$0")"
# shellcheck source-path=SCRIPTDIR source=lib.sh
. ./lib.sh

run_parts \
	"tdrr|limit 2" \
	"-c overflow -c turns tdrr|limit 1|limit 1000|memory_limit 1|memory_limit 8kb|limit 8 flows 1|limit 8 time_constant 1ms"
