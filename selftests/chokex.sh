#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# chokex under every parent; and the corners of its configuration, where enqueue
# decides otherwise.
# With so small a min every arrival draws, and the bursts are of one flow, so nearly
# every arrival matches. The bandwidth makes the average forget between bursts.
set -euo pipefail

cd "$(dirname "$0")"
# shellcheck source-path=SCRIPTDIR source=lib.sh
. ./lib.sh

run_parts \
	"$ONE_FIFO chokex|limit 2 min 5 max 6 bandwidth 100gbit" \
	"$CORNERS chokex|limit 1 bandwidth 100gbit|limit 2 bandwidth 100gbit|limit 1000|limit 8 min 1 max 4 weight 0.5 candidates 4 bandwidth 100gbit avpkt 64|limit 8 min 1 max 2 weight 0.9 adaptive 8 bandwidth 100gbit|limit 8 min 1 max 4 weight 0.5 ecn nodrop bandwidth 100gbit"
