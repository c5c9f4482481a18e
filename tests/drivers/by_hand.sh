#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Run a scenario for each kind with --here and iperf3, as docs/scenarios.md describes. Runs as root
# in the checkout, in a guest with a stock kernel.
#
#	by_hand.sh DIR KIND...	writes results to DIR/KIND
set -euo pipefail

out=$1
shift

# Print everything that a run might leave behind.
state() {
	ip netns list
	ls /sys/class/net
	ps -C iperf3,flowgen,qsample -o comm= || :
}

run() {
	netns-scenarios/run dumbbell --here --seed 7 --qdisc "$1 bandwidth 4mbit" --out "$out/$1" \
		--set generator=iperf3 --set rate=4 --set flows=4 --set rtt=20 --set warmup=2 \
		--set duration=5
}

before=$(state)
unchanged() {
	[[ $(state) = "$before" ]] || { echo "left by $1:"; diff <(echo "$before") <(state); exit 1; }
}

for kind; do
	run "$kind"
	unchanged "a run of $kind"
done

# An interrupted run leaves nothing behind and gives no result.
set -m
netns-scenarios/run dumbbell --here --qdisc "$1" --out "$out/interrupted" --set generator=iperf3 \
	--set rate=4 --set flows=4 --set duration=1000 &
until pgrep -x iperf3 > /dev/null; do
	kill -0 $! || exit 1
	sleep 0.1
done
kill -INT -- -$!
status=0
wait $! || status=$?
((status == 130))
unchanged "an interrupted run"
[[ -e $out/interrupted.incomplete && ! -e $out/interrupted ]]
