#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# chokex under every parent: one set of options in every case, the corners of the
# configuration where enqueue decides, under one parent of each sort.
# With so small a min every arrival draws, and the bursts are of one flow, so nearly
# every arrival matches. The bandwidth makes the average forget between bursts.
set -euo pipefail

cd "$(dirname "$0")"
# shellcheck source-path=SCRIPTDIR source=lib.sh
. ./lib.sh

# A GSO packet at the head of a FIFO puts htb-slow into debt for longer than the
# matrix waits, with pfifo as well.
run_parts \
	"-p root -p tbf -p tbf-slow -p htb -p hfsc -p drr -p qfq -p ets-strict -p ets -p prio -p red -p sfb -p netem -p cbs -p multiq -p mq chokex|limit 2 min 5 max 6 bandwidth 100gbit" \
	"-p htb-slow -c overflow -c turns -c change -c replace -c delete -c down -c filter-drop -c filter-steal -c stab -c vlan -c ipv6 -c unlink -c netns chokex|limit 2 min 5 max 6 bandwidth 100gbit" \
	"-p root -p htb -p tbf-slow -p drr -p netem -p mq -c overflow -c turns chokex|limit 1 bandwidth 100gbit|limit 2 bandwidth 100gbit|limit 1000|limit 8 min 1 max 4 weight 0.5 candidates 4 bandwidth 100gbit avpkt 64|limit 8 min 1 max 2 weight 0.9 adaptive 8 bandwidth 100gbit|limit 8 min 1 max 4 weight 0.5 ecn nodrop bandwidth 100gbit"
