#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# redtail under every parent; and the corners of its configuration, where enqueue
# decides otherwise. Only TCP can come to the long queue, and of what the matrix
# sends only GSO packets are TCP.
set -euo pipefail

cd "$(dirname "$0")"
# shellcheck source-path=SCRIPTDIR source=lib.sh
. ./lib.sh

run_parts \
	"redtail|limit 3kb" \
	"$CORNERS redtail|limit 1kb|limit 1mb|limit 8kb dynamic" \
	"$CORNERS -c gso redtail|limit 1mb packets 1 min2 1kb max2 2kb weight 0.9|limit 1mb packets 1 min2 1kb max2 2kb weight 0.9 ecn nodrop"
