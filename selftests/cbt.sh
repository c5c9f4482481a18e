#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# cbt under every parent: one set of options in every case, the corners of the
# configuration where enqueue decides, under one parent of each sort.
# The bandwidth makes averages forget between bursts.
set -euo pipefail

cd "$(dirname "$0")"
# shellcheck source-path=SCRIPTDIR source=lib.sh
. ./lib.sh

# A GSO packet at the head of a FIFO puts htb-slow into debt for longer than the
# matrix waits, with pfifo as well. What netem held arrives at a new child at once:
# with the default options more than the class may have.
run_parts \
	"-p root -p tbf -p tbf-slow -p htb -p hfsc -p drr -p qfq -p ets-strict -p ets -p prio -p red -p sfb -p cbs -p multiq -p mq cbt|limit 2 bandwidth 100gbit" \
	"-p netem -c overflow -c turns -c change -c delete -c down -c filter-drop -c filter-steal -c gso -c stab -c vlan -c ipv6 -c unlink -c netns cbt|limit 2 bandwidth 100gbit" \
	"-p htb-slow -c overflow -c turns -c change -c replace -c delete -c down -c filter-drop -c filter-steal -c stab -c vlan -c ipv6 -c unlink -c netns cbt|limit 2 bandwidth 100gbit" \
	"-p root -p htb -p tbf-slow -p drr -p netem -p mq -c overflow -c turns cbt|limit 1 bandwidth 100gbit|limit 1000 bandwidth 100gbit|limit 8 bandwidth 100gbit red all min 1 max 2 weight 0.5|limit 100 bandwidth 100gbit threshold_other 2|limit 100 bandwidth 100gbit min 0.5 max 1 weight 0.9|limit 100 bandwidth 100gbit min 0.5 max 1 weight 0.9 victim arrival"
