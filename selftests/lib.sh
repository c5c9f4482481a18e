# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# For the shell tests: TAP, kselftest exit codes, a private network namespace
# with a device that sends only what it is told to.

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

# tap_result STATUS NAME [COMMENT]: STATUS is ok, fail or skip
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

# Print the plan and exit as kselftest wants it.
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

# Run this script again in a private network namespace, which ends with it.
enter_namespace() {
	[ "$(id -u)" -eq 0 ] || skip_all "needs root"
	if [ -z "${AQM_IN_NAMESPACE:-}" ]; then
		AQM_IN_NAMESPACE=1 exec unshare --net --mount -- "$0" "$@"
	fi
	# /sys/class/net is the one of the namespace that mounted it.
	mount -t sysfs sysfs /sys
	ip link set lo up
	# Nothing but the test sends.
	if [ -e /proc/sys/net/ipv6 ]; then
		echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6
	fi
}

# need_tools NAME...: the small C programs beside this file
need_tools() {
	local tool
	for tool; do
		[ -x "${TOOLS_DIR:=$SELFTESTS/../build/tools}/$tool" ] ||
			skip_all "$TOOLS_DIR/$tool is not built: make -C selftests"
	done
}

# A process costs a tenth of a second where memory is checked or a processor emulated, so those
# that are asked most are started once, and obey line by line. All answer on one pipe; what tc
# shows goes into the file $shown.
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

answer_time=300 # s: longer than any takes

# hear TEXT: an answer that ends with TEXT, in $said without it. If nothing else is said it is read
# at once: byte by byte costs.
hear() {
	local more=
	read -rt "$answer_time" -N ${#1} -u "$answers_fd" said &&
		until [[ $said == *"$1" ]]; do
			if ! IFS= read -rt "$answer_time" -u "$answers_fd" more || [[ $said == burst:* ]]; then
				break
			fi
			said+=$more$'\n'
			more=
		done
	if [[ $said != *"$1" ]]; then
		echo "no answer, but: $said$more" >&2
		exit "$KSFT_FAIL"
	fi
	said=${said%"$1"}
}

# tell tc|ip LINE...: false if it refuses one of the lines; why is in $said. An unknown word comes
# last, for what is said of that is known.
tell() {
	local text
	printf -v text '%s\n' "${@:2}" over
	echo -n "$text" >&"${fd[$1]}"
	text=${text//[!$'\n']/}
	lines[$1]=$((lines[$1] + ${#text}))
	hear "Object \"over\" is unknown, try \"$1 help\".
Command failed -:${lines[$1]}
"
	[[ $said != *"Command failed"* ]]
}

in_tc() {
	: > "$shown"
	tell tc "$@"
}

# show LINE: what tc shows is read next; a refusal must not pass for an empty answer.
show() {
	in_tc "$1" || {
		echo "$1: $said" >&2
		exit "$KSFT_FAIL"
	}
}

in_ip() {
	tell ip "$@"
}

burst() {
	echo "$@" >&"${fd[burst]}"
	hear "offered ${*: -1}"$'\n'
}

# gate_up [QUEUES]: a fresh, shut device. The servers take its index from memory.
gate_up() {
	in_ip "link add $DEV index 100 up numtxqueues ${1:-1} type gate"
}

# shellcheck disable=SC2034 # for the caller
# Lines for tc: hash the packets of mark 77 before they reach the discipline, as the stack has
# hashed most real packets.
gate_hashes="qdisc add dev $DEV clsact
filter add dev $DEV egress protocol all pref 1 basic match 'not meta(nf_mark eq 77)' action pass
filter add dev $DEV egress protocol all pref 2 handle 1 flow hash keys rxhash divisor 1"

gate_down() {
	[ ! -d "/sys/class/net/$DEV" ] || in_ip "link del $DEV"
}

gate_open() {
	echo 1000000000 > "/sys/class/net/$DEV/gate/credit"
}

gate_credit() {
	echo "$1" > "/sys/class/net/$DEV/gate/credit"
}

# shellcheck disable=SC2034 # for the caller
# Set $sent to the number of packets that have left.
gate_sent() {
	read -r sent < "/sys/class/net/$DEV/statistics/tx_packets"
}

# Sleep without a process: nobody writes to that pipe.
exec {nap_fd}<> <(:)
nap() {
	read -rt "$1" -u "$nap_fd" || :
}

# wait_until COMMAND...: for what happens soon, 5 s at most; asked less and less
# often, for each time costs processes
wait_until() {
	local pause
	for pause in 0.01 0.02 0.04 0.08 0.16 0.32 0.64 1.28 2.56; do
		! "$@" || return 0
		nap "$pause"
	done
	"$@"
}
