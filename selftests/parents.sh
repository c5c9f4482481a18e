#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Test whether a queue discipline keeps its contract with its parents and the core.
#
#	parents.sh [-p PARENT]... [-c CASE]... [-x PARENT:CASE]... [-b WORDS]
#		[-f CLASS] [-s NAMES] [-l LIMIT] [-u] [-n] KIND ['OPTIONS']...
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
# what corrupted memory in older kernels (gate/sch_olddrr.c). FEW is for the
# content of packets, which parents do not see.
EVERY="root tbf tbf-slow htb htb-slow hfsc drr qfq ets-strict ets prio red sfb netem cbs multiq mq
	hfsc-ls:prio hfsc-ls:drr hfsc-ls:tbf olddrr olddrr:prio"
SORTS="root tbf htb hfsc drr ets netem mq hfsc-ls:prio olddrr"
FEW="root tbf drr"
ALL_CASES="overflow turns change replace delete down filter-drop filter-steal filter-class gso
	gso-lost stab hash vlan ipv6 unlink netns requeue handle-0"

# parents_of CASE
parents_of() {
	case $1 in
	overflow | turns | change | gso) echo "$EVERY" ;;
	gso-lost) echo "$SORTS olddrr:prio" ;;
	replace | delete | down) echo "$SORTS" ;;
	# These parents count the packets of a child.
	filter-drop | filter-steal) echo "root tbf htb hfsc drr netem hfsc-ls:prio olddrr olddrr:prio" ;;
	# These cases are about device queues.
	requeue | handle-0) echo root ;;
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
burst_words=()
class=
choice=
while getopts p:c:x:b:f:s:l:unh: opt; do
	case $opt in
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
		"[-s NAMES] [-l LIMIT] [-u] [-n] KIND ['OPTIONS']..." >&2
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
modprobe -q sch_olddrr || :
wrong=/sys/module/sch_olddrr/parameters/wrong

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
		esac ;;
	*)
		echo "no parent \"$1\"; choose from: $EVERY" >&2
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

# ---- cases ----

# Packets of many flows, then of one flow, which loses packets or gets marks, then
# of many flows.
case_overflow() {
	offer -f 8 40
	counts_agree "backlogged" || return
	offer -e -f 1 20
	counts_agree "backlogged by one flow" || return
	offer -f 3 20
	counts_agree "backlogged again" || return
	must run_tc "class show dev $DEV" || return
	drain && still_works "the overflow"
}

# Alternate arrivals and departures, so that parents peek in between.
case_turns() {
	local i
	for i in {1..5}; do
		offer -f 2 -l $((60 + 240 * i)) 3
		offer 2
		gate_credit 1
		counts_agree "turn $i" || return
	done
	gate_credit 0
	offer -f 5 7
	drain && still_works "the turns"
}

case_change() {
	offer -f 8 40
	child change 10: "$kind" limit "$least" || return
	counts_agree "after a change to limit $least" || return
	# A packet that was peeked at or returned does not count against the limit.
	[ "$parent" = netem ] || [ "${qlen[10:]}" -le $((least + 1)) ] ||
		fails "${qlen[10:]} packets after a change to limit $least" || return
	offer -f 8 5
	child change 10: "$kind" limit 1000 || return
	offer -f 8 5
	counts_agree "after a change to limit 1000" || return
	drain && still_works "the changes"
}

case_replace() {
	offer -f 8 20
	child replace 20: pfifo limit 100 || return
	child_is_gone "the replacement by pfifo" || return
	offer -f 8 5
	child replace 10: "$kind" || return
	child_is_gone "the replacement of pfifo" || return
	offer -f 8 5
	counts_agree "replaced" || return
	drain any && still_works "replacing"
}

# child_is_gone EVENT: the deleted child and its packets no longer count. What
# still counts are netem's own packets, and the other child of multiq or mq.
child_is_gone() {
	read_stats
	[ "${qlen[10:]:-0}" = 0 ] || fails "after $1 10: still counts ${qlen[10:]} packets" || return
	case $parent in
	netem | root)
		return ;;
	multiq | mq)
		[ "${qlen[1:]}" -le $((${qlen[30:]:-0} + 9)) ] || fails "after $1 1: still counts ${qlen[1:]} packets" ;;
	*)
		[ "${qlen[1:]}" = 0 ] || fails "after $1 1: still counts ${qlen[1:]} packets" || return
		[ "${bytes[1:]}" = 0 ] || fails "after $1 1: still counts ${bytes[1:]} bytes" ;;
	esac
}

case_delete() {
	offer -f 8 20
	case $parent in
	htb* | hfsc | drr | qfq)
		run_tc "filter del dev $DEV parent 1:" || :
		must run_tc "class del dev $DEV classid 1:1" || return ;;
	*)
		must run_tc "qdisc del dev $DEV $at" || return ;;
	esac
	if [ "$parent" = root ]; then
		root=0:
		return 0
	fi
	child_is_gone "the deletion" || return
	case $parent in
	htb* | hfsc | drr | qfq) return ;;
	esac
	# shellcheck disable=SC2086
	child add 10: "$kind" $options || return
	drain any && still_works "the deletion"
}

case_down() {
	offer -f 8 20
	must run_ip "link set $DEV down" || return
	child_is_gone "link down" || return
	must run_ip "link set $DEV up" || return
	child_is_gone "link up" || return
	offer -f 8 20
	counts_agree "up again" || return
	drain any && still_works "link down and up"
}

filter() {
	run_tc "filter add dev $DEV parent 10: protocol ip pref 1 matchall $*"
}

case_filter-drop() {
	filter action drop || return "$KSFT_SKIP"
	offer -f 8 20
	must run_tc "filter del dev $DEV parent 10:" || return
	offer -f 8 20
	counts_agree "after a filter dropped" || return
	drain && still_works "the filter"
}

case_filter-steal() {
	local stolen
	filter action mirred egress redirect dev lo || return "$KSFT_SKIP"
	offer -f 8 20
	# netem asks its child only when the packets are due.
	[ "$parent" != netem ] || drain any || return
	gate_credit 0
	show "filter show dev $DEV parent 10:"
	[[ $(< "$shown") =~ '"packets":'([0-9]+) ]]
	stolen=${BASH_REMATCH[1]}
	[ "$stolen" -gt 0 ] || fails "the filter stole nothing" || return
	must run_tc "filter del dev $DEV parent 10:" || return
	offer -f 8 20
	counts_agree "after a filter stole" || return
	drain "$stolen" && still_works "the filter"
}

# A filter selects the class of a packet.
case_filter-class() {
	local minor=${class/flow/3} classes
	[ -n "$class" ] || return "$KSFT_SKIP"
	must run_tc "filter add dev $DEV parent 10: handle 3 fw classid 10:$minor" || return
	offer -m 3 3
	counts_agree "after a filter named a class" || return
	if [ "$class" != flow ]; then
		classes=$(tc -s class show dev "$DEV" parent 10:)
		[[ $classes =~ class\ $kind\ 10:$minor\ parent\ 10:[^:]*backlog\ [0-9]+b\ [1-9] ]] ||
			fails "class 10:$minor holds nothing: $classes" || return
	fi
	offer -f 8 20
	drain && still_works "the filter"
}

# The core holds the up to 64 packets that the device returns. They do not count
# against the limit, so the queue still accepts arrivals.
case_requeue() {
	local before
	[ "$parent" = root ] || return "$KSFT_SKIP"
	echo 1000000 > "/sys/class/net/$DEV/gate/bulk"
	child change 10: "$kind" limit 100000 || return
	offer -f 8 40
	# The first packet to leave bypassed the idle queue.
	gate_credit 1
	gate_credit 1
	counts_agree "after packets came back" || return
	child change 10: "$kind" limit $((4 * least)) || return
	read_stats
	before=$leaves
	offer -f 3 3
	counts_agree "after more arrived" || return
	[ "$kind" = pfifo ] || [ "$leaves" -gt "$before" ] || $accepts_nothing ||
		fails "$before packets came back, and none of three finds a place" || return
	gate_credit 1
	offer -f 3 20
	drain && still_works "packets came back"
}

# The discipline is net.core.default_qdisc, alone and below mq. Then its handle is
# 0. A priority without major number must not select a class.
case_handle-0() {
	local queues priorities first=
	local -a words
	[ "$parent" = root ] || return "$KSFT_SKIP"
	for queues in 1 4; do
		for priorities in "-p 0" "-p 0 -p 1 -p 2 -p 3"; do
			by_default "$queues" || { why="no default here"; return "$KSFT_SKIP"; }
			read -ra words <<< "$priorities"
			burst "${words[@]}" "$DEV" 8
			offered=8
			where_packets_are
			[ -n "$first" ] || first=$where
			[ "$where" = "$first" ] ||
				fails "packets of one flow, $priorities: $where, and with -p 0: $first" || return
			drain_all || return
		done
		by_default "$queues"
		offered=0
		offer -f 40 80
		drain_all || return
	done
}

# by_default QUEUES: create a device with the discipline as default. The default
# applies to all namespaces, so we set it only for a moment.
by_default() {
	local all="nsenter --target 1 --net" one found=0
	gate_down
	default=$($all cat /proc/sys/net/core/default_qdisc)
	$all sh -c "echo $kind > /proc/sys/net/core/default_qdisc"
	gate_up "$1" || :
	$all sh -c "echo $default > /proc/sys/net/core/default_qdisc"
	default=
	show "qdisc show dev $DEV"
	while read -rd '{' one; do
		[[ $one != "\"kind\":\"$kind\",\"handle\":\"0:\""* ]] || found=$((found + 1))
	done < "$shown"
	[ "$found" -eq "$1" ]
}

# Set $where to the number of packets in each queue, from the statistics.
where_packets_are() {
	local name one
	local -A sum=()
	show "qdisc show dev $DEV"
	while read -rd , one; do
		for name in $choice; do
			[[ ! $one =~ "\"$name\":"([0-9]+) ]] ||
				sum[$name]=$((sum[$name] + BASH_REMATCH[1]))
		done
	done < "$shown"
	where=
	for name in $choice; do
		where+=" $name=${sum[$name]}"
	done
}

all_drained() {
	read_stats
	[ "$leaves" -eq 0 ]
}

drain_all() {
	local sent
	gate_open
	wait_until all_drained || fails "stalled with $leaves packets" || return
	[ "$leaf_bytes" -eq 0 ] || fails "$leaf_bytes bytes are still counted" || return
	gate_sent
	[ $((sent + lost)) -eq "$offered" ] ||
		fails "of $offered packets $sent left, but $lost count as dropped"
}

# A discipline that splits GSO packets counts their segments. The first packet is
# small, because the core may bypass the idle queue with it. Below mq and multiq
# only one child splits, so the number of packets offered is unknown.
case_gso() {
	local split taken=0
	case $parent in mq | multiq) taken=any ;; esac
	for split in nosplit_gso split_gso; do
		gate_credit 0
		[ "$kind" = pfifo ] || child change 10: "$kind" "$split" || return
		offer -f 4 -l 200 1
		offer -f 4 -g 8 20
		[ "$kind" = pfifo ] || [ "$split" = nosplit_gso ] || offered=$((offered + 20 * 7))
		offer -f 4 -l 200 10
		counts_agree "GSO backlogged, $split" || return
		drain "$taken" || return
		still_works "GSO, $split" || return
	done
}

# GSO packets that arrive at an empty queue lose all or most of their segments: to a
# filter, to the memory limit, or to the limit.
case_gso-lost() {
	if filter action drop; then
		offer_gso "a filter dropped them" || return
		run_tc "filter del dev $DEV parent 10:"
	fi
	[ "$kind" = pfifo ] || child change 10: "$kind" split_gso memory_limit 1 || return
	offer_gso "there was no memory for them" || return
	[ "$kind" = pfifo ] || child change 10: "$kind" limit "$least" memory_limit 1000000 || return
	offer_gso "the limit was $least" || return
	still_works "GSO packets were lost"
}

# offer_gso EVENT: offer five packets, each to an empty queue. If only one segment
# is left, parents learn its length when it leaves: see <aqm/parents.h>.
offer_gso() {
	local each_byte=$no_bytes
	for _ in {1..5}; do
		gate_credit 0
		offer -f 1 -g 8 1
		read_stats
		[ "$leaves" -ne 1 ] || no_bytes=1
		counts_agree "GSO, and $1" || return
		no_bytes=$each_byte
		drain any || return
	done
}

case_stab() {
	stab="stab overhead 24 mpu 84"
	no_bytes=1
	# shellcheck disable=SC2086
	child replace 10: "$kind" $options || return
	case_overflow
}

# Each flow sends two packets, and the second already has a hash. Both must go to the same class, so
# each class holds an even number. The first packet may be missing, because the core can bypass an
# idle queue.
case_hash() {
	local classes line odd=0
	[ "$kind" = pfifo ] || child change 10: "$kind" limit 1000 || return
	offer 1
	offer -f 8 16
	counts_agree "hashed and not hashed" || return
	if [ "$lost" -eq 0 ]; then
		classes=$(tc -s class show dev "$DEV" parent 10:)
		while read -r line; do
			[[ ! $line =~ backlog\ [0-9A-Za-z]+\ ([0-9]+)p ]] || odd=$((odd + BASH_REMATCH[1] % 2))
		done <<< "$classes"
		[ "$odd" -le 1 ] ||
			fails "two packets of a flow, one hashed before, are in different classes: $classes" || return
	fi
	drain && still_works "hashed packets"
}

case_vlan() {
	offer -f 8 -v 5 40
	counts_agree "VLAN backlogged" || return
	drain && still_works "VLAN"
}

case_ipv6() {
	offer -f 8 -6 40
	counts_agree "IPv6 backlogged" || return
	drain && still_works "IPv6"
}

# Delete the device while packets wait.
case_unlink() {
	offer -f 8 20
	must run_ip "link del $DEV"
}

# Delete the namespace, and with it the last qdisc of this kind, while packets wait.
case_netns() {
	unshare --net --mount -- "$0" -h "$parent" "$kind" "$options" ||
		fails "no packets were left waiting" || return
	gate_down
	[ ! -e "/sys/module/sch_$kind/refcnt" ] || wait_until unused ||
		fails "sch_$kind is still in use"
}

unused() {
	local users
	read -r users < "/sys/module/sch_$kind/refcnt"
	[ "$users" -eq 0 ]
}

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
