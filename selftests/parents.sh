#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Test whether a queue discipline keeps its contract with its parents and the core.
#
#	parents.sh [-p PARENT]... [-c CASE]... [-x PARENT:CASE]... [-b WORDS]
#		[-f CLASS] [-s NAMES] [-l LIMIT] [-o] [-u] [-n] KIND ['OPTIONS']...
#
# It runs each case with every set of options, under each parent that can make a
# difference. The device sends only what a case allows, so a case controls which
# packets wait and which leave. A case passes if
#   - parent and child count the same packets and bytes while packets wait;
#   - both count 0 after all packets have left;
#   - every packet was either sent or counted as dropped;
#   - traffic continues afterwards.
#
# -p  run only these parents
# -c  run only these cases; with -p, every case under every parent
# -x  exclude a case under a parent
# -b  arguments of each burst
# -f  the class that the case "filter-class" uses; "flow" if tc lists no classes
# -s  statistics that show where packets went, for the case "handle-0"
# -l  lowest limit for the case "change" (default 1)
# -o  also run the parents of old kernels that need the protections of modules built
#     with AQM_OLD_PARENTS=1
# -u  leave the module loaded at the end
# -n  only print the cases that would run
# shellcheck disable=SC2317 # the cases are called by name
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

# Sets of parents. A case runs under the smallest set that can make a difference.
# EVERY is for packets that enter and leave, because each parent has its own code
# for that. SORTS is for a child that is added or deleted. It has one parent for
# each way of knowing that a child holds packets: no parent, a token bucket, a
# tree, two service curves, a ring, strict bands, an own queue, several device
# queues, a grandparent that never looks again, and our olddrr, which reports
# what corrupted memory in older kernels (gate/sch_oldparents.c). FEW is for the
# content of packets, which parents do not see.
EVERY="root tbf tbf-slow htb htb-slow hfsc drr qfq ets-strict ets prio red sfb netem cbs multiq mq
	hfsc-ls:prio hfsc-ls:drr hfsc-ls:tbf olddrr olddrr:prio"
SORTS="root tbf htb hfsc drr ets netem mq hfsc-ls:prio olddrr"
FEW="root tbf drr"
OLD="olddrr:oldhfsc olddrr:oldred"
ALL_CASES="overflow turns change replace delete down filter-drop filter-steal filter-class gso
	gso-lost stab hash vlan ipv6 unlink netns requeue verdict handle-0"

# parents_of CASE
parents_of() {
	case $1 in
	overflow | turns | change | gso) echo "$EVERY $old" ;;
	gso-lost) echo "$SORTS olddrr:prio $old" ;;
	replace | delete | down) echo "$SORTS $old" ;;
	# These parents count the packets of a child.
	filter-drop | filter-steal) echo "root tbf htb hfsc drr netem hfsc-ls:prio olddrr olddrr:prio" ;;
	# No parent counts the packets of these, so the core has them and the verdict.
	requeue | verdict) echo "root mq" ;;
	# This case creates mq itself.
	handle-0) echo root ;;
	*) echo "$FEW" ;;
	esac
}

parents=()
cases=()
declare -A excluded
least=1
hold=
unload=true
list_only=false
old=
burst_words=()
class=
choice=
while getopts p:c:x:b:f:s:l:ounh: opt; do
	case $opt in
	o) old=$OLD ;;
	u) unload=false ;;
	n) list_only=true ;;
	l) least=$OPTARG ;;
	b) read -ra burst_words <<< "$OPTARG" ;;
	f) class=$OPTARG ;;
	s) choice=$OPTARG ;;
	h) hold=$OPTARG ;;
	p) parents+=("$OPTARG") ;;
	c) cases+=("$OPTARG") ;;
	x) excluded[$OPTARG]=1 ;;
	*) exit 2 ;;
	esac
done
args=("$@")
shift $((OPTIND - 1))
if [ $# -eq 0 ]; then
	echo "usage: parents.sh [-p PARENT]... [-c CASE]... [-x PARENT:CASE]... [-b WORDS] [-f CLASS]" \
		"[-s NAMES] [-l LIMIT] [-o] [-u] [-n] KIND ['OPTIONS']..." >&2
	exit 2
fi
kind=$1
shift
[ $# -gt 0 ] || set -- "limit 1" "limit 2" "limit 1000"
option_sets=("$@")

# Print a line "PARENT CASE" for each case that runs with each set of options.
cells() {
	local case parent
	local -a some
	read -rd '' -a some <<< "$ALL_CASES" || :
	[ ${#cases[@]} -eq 0 ] || some=("${cases[@]}")
	for case in "${some[@]}"; do
		if [ ${#parents[@]} -gt 0 ] && [ ${#cases[@]} -gt 0 ]; then
			printf "%s $case\n" "${parents[@]}"
			continue
		fi
		for parent in $(parents_of "$case"); do
			[ ${#parents[@]} -eq 0 ] || [[ " ${parents[*]} " == *" $parent "* ]] || continue
			echo "$parent $case"
		done
	done | while read -r parent case; do
		[ -n "${excluded[$parent:$case]:-}" ] || echo "$parent $case"
	done
}

if $list_only; then
	for options in "${option_sets[@]}"; do
		while read -r parent case; do
			echo "$parent: $kind $options: $case"
		done < <(cells)
	done
	exit
fi

enter_namespace "${args[@]}"
need_tools burst
start_servers
modprobe -q aqm_gate || [ -d /sys/module/aqm_gate ] || skip_all "no module aqm_gate"
modprobe -q "sch_$kind" || :
modprobe -q sch_oldparents || :
wrong=/sys/module/sch_oldparents/parameters/wrong

# ---- parents: the root is 1:, one below it 2:, the child 10: is at $at ----

fails() {
	why=$*
	return 1
}

# Set $plan to the commands that create the parent, and $unslow to the command that
# removes its rate limit.
describe_parent() {
	local everything="filter add dev $DEV parent 1: matchall classid 1:1"
	local one="priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"
	local root="qdisc add dev $DEV root handle 1:"
	local class="class add dev $DEV parent 1: classid 1:1"
	at="parent 1:1"
	queues=1
	unslow=
	case $1 in
	root)
		at=root
		plan= ;;
	tbf)
		plan="$root tbf rate 10gbit burst 1mb limit 100mb" ;;
	tbf-slow)
		plan="$root tbf rate 8kbit burst 80kb limit 100mb"
		unslow="qdisc change dev $DEV root handle 1: tbf rate 10gbit burst 1mb limit 100mb" ;;
	htb)
		plan="$root htb default 1
			$class htb rate 10gbit burst 1mb cburst 1mb quantum 1514" ;;
	htb-slow)
		plan="$root htb default 1
			$class htb rate 8kbit burst 2kb cburst 2kb quantum 1514"
		unslow="class change dev $DEV parent 1: classid 1:1 htb rate 10gbit burst 1mb cburst 1mb quantum 1514" ;;
	hfsc)
		plan="$root hfsc default 1
			$class hfsc sc rate 10gbit" ;;
	drr)
		plan="$root drr
			$class drr quantum 1514
			$everything" ;;
	qfq)
		plan="$root qfq
			$class qfq weight 1 maxpkt 65536
			$everything" ;;
	ets-strict)
		plan="$root ets bands 2 strict 2 $one" ;;
	ets)
		plan="$root ets bands 2 quanta 1514 1514 $one" ;;
	prio)
		plan="$root prio bands 2 $one" ;;
	red)
		plan="$root red limit 10mb min 1mb max 3mb avpkt 1000 burst 1500 probability 0.01 bandwidth 1gbit" ;;
	sfb)
		plan="$root sfb limit 100000 max 50000 target 40000 penalty_rate 100000 penalty_burst 100000" ;;
	netem)
		plan="$root netem limit 100000" ;;
	cbs)
		plan="$root cbs offload 0 idleslope 10000000 sendslope -1 hicredit 1000000000 locredit -1000000000" ;;
	multiq | mq)
		queues=2
		plan="$root $1
			qdisc add dev $DEV parent 1:2 handle 30: pfifo limit 1000" ;;
	olddrr)
		plan="$root olddrr" ;;
	# hfsc with link sharing only checks the count of a class before it takes a packet
	# from it. If the count passes through 0 meanwhile, it never checks again.
	hfsc-ls:* | olddrr:*)
		at="parent 2:1"
		plan="$root hfsc default 1
			$class hfsc ls rate 10gbit"
		[[ $1 == hfsc* ]] || plan="$root olddrr"
		local below="qdisc add dev $DEV parent 1:1 handle 2:"
		case $1 in
		*:prio)
			plan+="
			$below prio bands 2 $one" ;;
		*:drr)
			plan+="
			$below drr
			class add dev $DEV parent 2: classid 2:1 drr quantum 1514
			filter add dev $DEV parent 2: matchall classid 2:1" ;;
		*:tbf)
			plan+="
			$below tbf rate 10gbit burst 1mb limit 100mb" ;;
		*:old*)
			plan+="
			$below ${1#*:}" ;;
		esac ;;
	*)
		echo "no parent \"$1\"; choose from: $EVERY $OLD" >&2
		exit 2 ;;
	esac
}

# must run_tc|run_ip LINE: fail the case if the command fails
must() {
	"$@" || fails "$2: $answer"
}

# child add|change|replace HANDLE KIND [OPTION]...
child() {
	local verb=$1 handle=$2
	shift 2
	must run_tc "qdisc $verb dev $DEV $at handle $handle $stab $*"
}

# ---- checks of the kernel's statistics ----

# Read qlen[HANDLE], bytes[HANDLE], drops[HANDLE], and their sums over all qdiscs
# except parents: leaves (packets), leaf_bytes, lost.
declare -A qlen bytes drops
read_stats() {
	local one kind='' h=''
	local handle='"kind":"([^"]+)","handle":"([0-9a-f]+:)"'
	local counts='"drops":([0-9]+),"overlimits":[0-9]+,"requeues":[0-9]+,"backlog":([0-9]+),"qlen":([0-9]+)'
	qlen=() bytes=() drops=()
	leaves=0 leaf_bytes=0 lost=0
	show "qdisc show dev $DEV"
	while read -rd '{' one || [ -n "$one" ]; do
		if [[ $one =~ $handle ]]; then
			kind=${BASH_REMATCH[1]} h=${BASH_REMATCH[2]}
		fi
		[[ $one =~ $counts ]] || continue
		drops[$h]=${BASH_REMATCH[1]}
		bytes[$h]=${BASH_REMATCH[2]}
		qlen[$h]=${BASH_REMATCH[3]}
		case $h in
		1: | 2:) continue ;;
		0:) [ "$kind" != mq ] || continue ;;
		esac
		lost=$((lost + drops[$h]))
		leaf_bytes=$((leaf_bytes + bytes[$h]))
		leaves=$((leaves + qlen[$h]))
	done < "$shown"
}

is_drained() {
	read_stats
	[ "${qlen[$root]}" = 0 ]
}

# counts_agree WHEN: the counts of parent and children are equal. Two exceptions:
# netem also holds packets itself. From a parent of several device queues, the core
# takes up to 9 packets at once, and multiq counts packets that the device returned.
counts_agree() {
	read_stats
	local r=${qlen[$root]}
	case $parent in
	netem)
		[ "$r" -ge "$leaves" ] || fails "$1: netem holds $r packets, its child $leaves" ;;
	multiq)
		((r >= leaves && r <= leaves + 9)) ||
			fails "$1: the parent counts $r packets, the children $leaves" ;;
	*)
		[ "$r" = "$leaves" ] || fails "$1: the parent counts $r packets, the children $leaves"
		[ -n "$no_bytes" ] || [ "${bytes[$root]}" = "$leaf_bytes" ] ||
			fails "$1: the parent counts ${bytes[$root]} bytes, the children $leaf_bytes" ;;
	esac
}

offered=0
offer() {
	local count=${*: -1}
	burst "${burst_words[@]}" "${@:1:$#-1}" "$DEV" "$count"
	offered=$((offered + count))
}

# drain [STOLEN]: let all packets leave. All counts must be 0, and sent + dropped +
# stolen = offered. STOLEN is a number, or "any" to skip the sum.
drain() {
	local handle
	gate_open
	if [ -n "$unslow" ]; then
		run_tc "$unslow"
	fi
	wait_until is_drained || fails "stalled with ${qlen[$root]} packets" || return
	for handle in "${!qlen[@]}"; do
		[ "${qlen[$handle]}" = 0 ] || fails "$handle still counts ${qlen[$handle]} packets" || return
		[ -n "$no_bytes" ] || [ "${bytes[$handle]}" = 0 ] ||
			fails "$handle still counts ${bytes[$handle]} bytes" || return
	done
	[ "${1:-0}" != any ] || return 0
	local sent
	gate_sent
	[ $((sent + lost + ${1:-0})) -eq "$offered" ] ||
		fails "of $offered packets $sent left and ${1:-0} were taken, but $lost count as dropped"
}

# still_works EVENT: at least one of 20 packets gets through, unless the discipline
# accepts none. RED may drop some.
still_works() {
	local before sent i
	gate_open
	gate_sent
	before=$sent
	for i in {1..20}; do
		offer 1
		wait_until is_drained || fails "packet $i is stuck after $1" || return
		gate_sent
		if [ "$sent" -gt "$before" ] || $accepts_nothing; then
			return
		fi
	done
	fails "no packet leaves after $1"
}

# shellcheck source-path=SCRIPTDIR source=cases.sh
. "$(dirname "$0")/cases.sh"

# ---- the matrix ----

fresh() {
	stab=
	offered=0
	root=1:
	[ "$parent" != root ] || root=10:
	# multiq does not count bytes. With a size table at the child, the parent adds
	# and subtracts different lengths. Do not compare bytes in these cases.
	no_bytes=
	[ "$parent" != multiq ] || no_bytes=1
	accepts_nothing=false
	[[ $1 != *"memory_limit 1" ]] || accepts_nothing=true
	describe_parent "$parent"
	gate_up "$queues"
	run_tc "$gate_hashes" "$plan" "qdisc add dev $DEV $at handle 10: $kind $1"
}

run_case() {
	local status=0
	if ! fresh "$options"; then
		why=$answer
		gate_down
		gate_up "$queues"
		run_tc "$plan" || status=$KSFT_SKIP
		gate_down
		[ "$status" -ne 0 ] || fails "$why"
		[ "$status" -ne 0 ] || status=1
		return "$status"
	fi
	[ ! -e "$wrong" ] || echo 0 > "$wrong"
	"case_$1" || status=$?
	gate_down
	[ ! -e "$wrong" ] || [ "$(< "$wrong")" -eq 0 ] ||
		fails "would have corrupted olddrr's list $(< "$wrong") times" || status=1
	# If pfifo stalls as well, the parent is at fault.
	if [ "$status" -eq 1 ] && [[ "$parent $1" == hfsc*" down" ]] &&
	   [ "$kind" != pfifo ] && ! control "$1"; then
		status=$KSFT_SKIP
	fi
	return "$status"
}

# Run the same case with pfifo.
control() {
	local kind=pfifo options="limit 20" status=0
	run_case "$1" || status=$?
	why="with pfifo too: $why"
	return "$status"
}

# The module cannot be unloaded while in use, can be unloaded afterwards, and loads again.
unloads() {
	[ -e "/sys/module/sch_$kind/refcnt" ] || return "$KSFT_SKIP"
	parent=root options=
	fresh ""
	if rmmod "sch_$kind" 2> /dev/null; then
		fails "the module could be unloaded while in use"
		return
	fi
	gate_down
	wait_until unused || fails "the module is still in use" || return
	# Skip this part if modprobe would not find the module again.
	modprobe -nq "sch_$kind" || return "$KSFT_SKIP"
	rmmod "sch_$kind" || fails "the module cannot be unloaded" || return
	modprobe "sch_$kind" || fails "the module cannot be loaded again"
}

restore() {
	rm -f "$shown"
	[ -z "$default" ] ||
		nsenter --target 1 --net sh -c "echo $default > /proc/sys/net/core/default_qdisc"
}

# report NAME COMMAND...: run a command and print its result in TAP
report() {
	local name=$1 status=0
	shift
	why=
	"$@" || status=$?
	case $status in
	0) tap_result ok "$name" ;;
	"$KSFT_SKIP") tap_result skip "$name" "$why" ;;
	*) tap_result fail "$name" "$why" ;;
	esac
}

if [ -n "$hold" ]; then
	parent=$hold options=$1
	fresh "$1"
	# A queued packet holds its socket, and the socket holds the namespace. A copy
	# by mirred belongs to no socket, so it does not keep the namespace alive.
	run_ip "link add d0 up type dummy"
	run_tc "qdisc add dev d0 clsact" \
		"filter add dev d0 egress matchall action mirred egress mirror dev $DEV"
	burst -f 8 d0 20
	read_stats
	[ "${qlen[$root]}" -gt 0 ] || $accepts_nothing
	exit
fi

gate_up
run_tc "qdisc add dev $DEV root $kind" || skip_all "tc or the kernel lacks $kind: $answer"
gate_down

default=
trap restore EXIT

planned=$(($(cells | wc -l) * ${#option_sets[@]}))
tap_start
for options in "${option_sets[@]}"; do
	while read -ru "$cells_fd" parent case; do
		report "$parent: $kind $options: $case" run_case "$case"
	done {cells_fd}< <(cells)
done
# An arithmetic error of the shell only ends the loop. Detect it.
[ "$tap_count" -eq "$planned" ] || exit "$KSFT_FAIL"
! $unload || report "$kind: unload" unloads
tap_end
