# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The cases of parents.sh, which sources this file, has what they call, and calls them
# by name.
# shellcheck disable=SC2034,SC2154,SC2317

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
	case $parent in root | mq) ;; *) return "$KSFT_SKIP" ;; esac
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

# If no parent counts packets, the sender gets the verdict: it hears of a loss if and only
# if its own packet lost something. mirred counts the verdicts that tell it of a loss.
case_verdict() {
	local status=0
	case $parent in root | mq) ;; *) return "$KSFT_SKIP" ;; esac
	run_ip "link add d0 index 101 up numtxqueues 2 type dummy" || return "$KSFT_SKIP"
	# To the first device queue, where class 1:1 is.
	local first="action skbedit queue_mapping 1 pipe"
	run_tc "qdisc add dev d0 clsact" \
		"filter add dev d0 egress matchall $first action mirred egress redirect dev $DEV" ||
		status=$KSFT_SKIP
	[ "$status" -ne 0 ] || verdicts || status=$?
	run_ip "link del d0"
	return "$status"
}

verdicts() {
	[ "$kind" = pfifo ] || child change 10: "$kind" split_gso limit "$least" || return
	# Some segments find no place in an idle queue.
	hears_of_its_loss -g 8 || return
	drain any || return
	# One packet waits. A packet of another flow may take its place. The first packet to
	# leave may have bypassed the queue.
	child change 10: "$kind" limit 1000 || return
	gate_credit 0
	burst d0 2
	gate_credit 1
	child change 10: "$kind" limit "$least" || return
	hears_of_its_loss -6 -l 300 || return
	drain any && still_works "verdicts"
}

# hears_of_its_loss WORDS: send a packet. If it lost nothing, it waits alone, with its
# 300 bytes, or it waits beside others.
hears_of_its_loss() {
	local own heard before
	gate_credit 0
	read_stats
	before=${drops[10:]}
	count_losses_heard
	burst "$@" d0 1
	heard=$losses
	count_losses_heard
	heard=$((losses - heard))
	read_stats
	own=$((drops[10:] > before && bytes[10:] != 300))
	[ "$heard" -eq "$own" ] ||
		fails "packet $*: $own lost something, and $heard heard of it"
}

count_losses_heard() {
	show "filter show dev d0 egress"
	[[ $(< "$shown") =~ .*'"overlimits":'([0-9]+) ]]
	losses=${BASH_REMATCH[1]}
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
	still_works "GSO packets were lost" || return
	# The parent is deleted while its child holds one segment of a packet.
	[[ $parent == *:* ]] || return 0
	gate_credit 0
	offer -f 1 -g 8 1
	must run_tc "qdisc replace dev $DEV parent 1:1 handle 3: pfifo" || return
	child_is_gone "the deletion of 2:"
}

# offer_gso EVENT: offer five packets, each to an empty queue
offer_gso() {
	for _ in {1..5}; do
		gate_credit 0
		offer -f 1 -g 8 1
		counts_agree "GSO, and $1" || return
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
