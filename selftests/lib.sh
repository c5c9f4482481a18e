# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Functions for the shell tests: TAP, kselftest exit codes, and a private network
# namespace with a device of module aqm_gate, which sends only what a test allows.

readonly KSFT_FAIL=1
readonly KSFT_SKIP=4
DEV=g0
SELFTESTS=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PATH=$PATH:/sbin:/usr/sbin

tap_count=0
tap_failed=0
tap_passed=0

tap_start() {
	echo "TAP version 13"
}

# tap_result ok|fail|skip NAME [COMMENT]
tap_result() {
	tap_count=$((tap_count + 1))
	case $1 in
	ok)
		tap_passed=$((tap_passed + 1))
		echo "ok $tap_count $2" ;;
	skip)
		echo "ok $tap_count $2 # SKIP ${3:-}" ;;
	fail)
		tap_failed=$((tap_failed + 1))
		echo "not ok $tap_count $2"
		[ -z "${3:-}" ] || echo "# ${3//$'\n'/$'\n'# }" ;;
	esac
}

# Print TAP's plan and exit with a status of kselftest.
tap_end() {
	echo "1..$tap_count"
	echo "# passed $tap_passed failed $tap_failed skipped $((tap_count - tap_passed - tap_failed))"
	[ "$tap_failed" -eq 0 ] || exit "$KSFT_FAIL"
	[ "$tap_passed" -gt 0 ] || exit "$KSFT_SKIP"
	exit 0
}

skip_all() {
	echo "1..0 # SKIP $1"
	exit "$KSFT_SKIP"
}

# enter_namespace ARGUMENT...: run this script again in a private network namespace.
enter_namespace() {
	[ "$(id -u)" -eq 0 ] || skip_all "needs root"
	if [ -z "${AQM_IN_NAMESPACE:-}" ]; then
		AQM_IN_NAMESPACE=1 exec unshare --net --mount -- "$0" "$@"
	fi
	# sysfs shows the devices of the namespace that mounted it.
	mount -t sysfs sysfs /sys
	ip link set lo up
	# IPv6 would send packets on its own.
	if [ -e /proc/sys/net/ipv6 ]; then
		echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6
	fi
}

# need_tools NAME...: skip the test unless these programs of this directory are built
need_tools() {
	local tool
	for tool; do
		[ -x "${TOOLS_DIR:=$SELFTESTS/../build/tools}/$tool" ] ||
			skip_all "$TOOLS_DIR/$tool is not built: make -C selftests"
	done
}

# Starting a process takes 0.1 s under KASAN or on an emulated processor. So tc, ip and burst start
# once and read commands line by line. Their errors and answers come back on one pipe. tc's output
# goes to the file $shown.
start_servers() {
	local tc ip burst
	shown=$(mktemp)
	trap 'rm -f "$shown"' EXIT
	exec {answers_fd}<> <(:)
	exec {tc}> >(exec tc -s -j -force -batch - >> "$shown" 2>&"$answers_fd")
	exec {ip}> >(exec ip -force -batch - 2>&"$answers_fd")
	exec {burst}> >(exec "$TOOLS_DIR/burst" - >&"$answers_fd" 2>&1)
	declare -gA fd=([tc]=$tc [ip]=$ip [burst]=$burst) lines=([tc]=0 [ip]=0)
}

answer_time=300 # s, longer than any command takes

# read_answer END: read an answer that ends with END, and store it in $answer without END. First it
# reads as many characters as END has. Usually this is the whole answer. Only the first one has a time
# limit, because with a limit bash makes two system calls for each character.
read_answer() {
	local first more
	read -rt "$answer_time" -N 1 -u "$answers_fd" first || {
		echo "no answer in $answer_time s" >&2
		exit "$KSFT_FAIL"
	}
	read -rN $((${#1} - 1)) -u "$answers_fd" answer
	answer=$first$answer
	until [[ $answer == *"$1" ]]; do
		IFS= read -ru "$answers_fd" more
		answer+=$more$'\n'
		if [[ $answer == burst:* ]]; then
			echo -n "$answer" >&2
			exit "$KSFT_FAIL"
		fi
	done
	answer=${answer%"$1"}
}

# send tc|ip LINE...: run commands; false if one failed, with the error in $answer. The last line is
# an unknown word, because its error message is known and shows where the answer ends.
send() {
	local text
	printf -v text '%s\n' "${@:2}" over
	echo -n "$text" >&"${fd[$1]}"
	text=${text//[!$'\n']/}
	lines[$1]=$((lines[$1] + ${#text}))
	read_answer "Object \"over\" is unknown, try \"$1 help\".
Command failed -:${lines[$1]}
"
	[[ $answer != *"Command failed"* ]]
}

run_tc() {
	: > "$shown"
	send tc "$@"
}

# show LINE: run a tc command whose output matters. If it fails, the test ends, because an error
# would look like empty output.
show() {
	run_tc "$1" || {
		echo "$1: $answer" >&2
		exit "$KSFT_FAIL"
	}
}

run_ip() {
	send ip "$@"
}

burst() {
	echo "$@" >&"${fd[burst]}"
	read_answer "offered ${*: -1}"$'\n'
}

# gate_up [QUEUES]: create a closed device. The index is fixed because the servers cache it.
gate_up() {
	run_ip "link add $DEV index 100 up numtxqueues ${1:-1} type gate"
}

# shellcheck disable=SC2034 # used by callers
# Commands for tc: compute the flow hash of packets with mark 77 before they reach the discipline.
# Most real packets have one.
gate_hashes="qdisc add dev $DEV clsact
filter add dev $DEV egress protocol all pref 1 basic match 'not meta(nf_mark eq 77)' action pass
filter add dev $DEV egress protocol all pref 2 handle 1 flow hash keys rxhash divisor 1"

gate_down() {
	[ ! -d "/sys/class/net/$DEV" ] || run_ip "link del $DEV"
}

gate_open() {
	echo 1000000000 > "/sys/class/net/$DEV/gate/credit"
}

gate_credit() {
	echo "$1" > "/sys/class/net/$DEV/gate/credit"
}

# shellcheck disable=SC2034 # used by callers
# Set $sent to the number of packets that the device has sent.
gate_sent() {
	read -r sent < "/sys/class/net/$DEV/statistics/tx_packets"
}

# Sleep without starting a process: nobody writes to this pipe.
exec {nap_fd}<> <(:)
nap() {
	read -rt "$1" -u "$nap_fd" || :
}

# wait_until COMMAND...: wait up to 5 s until the command succeeds, with growing pauses
wait_until() {
	local pause
	for pause in 0.01 0.02 0.04 0.08 0.16 0.32 0.64 1.28 2.56; do
		! "$@" || return 0
		nap "$pause"
	done
	"$@"
}
