#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# cbt under every parent: one set of options in every case, the corners of the
# configuration where enqueue decides: thresholds, random victims, a full queue.
set -euo pipefail

cd "$(dirname "$0")"
# shellcheck source-path=SCRIPTDIR source=lib.sh
. ./lib.sh

run_parts \
	"cbt|limit 2 bandwidth 100gbit" \
	"-c overflow -c turns cbt|limit 1 bandwidth 100gbit|limit 1000 bandwidth 100gbit|limit 8 bandwidth 100gbit red all min 1 max 2 weight 0.5|limit 100 bandwidth 100gbit threshold_other 2|limit 100 bandwidth 100gbit min 0.5 max 1 weight 0.9 latency 1us"
