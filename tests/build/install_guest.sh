#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Run the README's commands unchanged, as root in the source tree, in a guest with a stock kernel.
#
#	install_guest.sh KDIR	KDIR has the kernel's headers
set -euo pipefail

kernel=$(uname -r)
here=/lib/modules/$kernel
unset TC_LIB_DIR

ip link add eth0 type dummy

# Restore the module directory of the kernel's packages, without the files that the lab adds.
# Our modules depend only on the kernel itself, so the existing list is sufficient.
mkdir /run/list
cp "$here"/modules.{order,builtin,builtin.modinfo} /run/list
mount -t tmpfs tmpfs "$here"
cp /run/list/* "$here"
ln -s "$1" "$here/build"
tc_dir=$(dirname /usr/lib/*/tc/normal.dist)
[[ ! -e $tc_dir/q_qsdrr.so ]]

type_in() { echo "# $*"; "$@" || { echo "FAILED ($?): $*"; exit 1; }; }

type_in make modules plugins
type_in make install
for source in sch_*.c; do
	[[ $source = *.mod.c ]] && continue
	kind=${source#sch_}
	kind=${kind%.c}
	type_in tc qdisc add dev eth0 root "$kind"
	tc -s -j qdisc show dev eth0 | grep "\"kind\":\"$kind\""
	[[ -e /usr/share/man/man8/tc-$kind.8 ]]
	modinfo -F version "sch_$kind"
	type_in tc qdisc del dev eth0 root
done
type_in tc qdisc add dev eth0 root qsdrr
type_in tc -s qdisc show dev eth0
type_in sch-aqm-doctor
type_in tc qdisc del dev eth0 root
type_in make uninstall
lsmod | sed -n 's/^\(sch_[^ ]*\) .*/\1/p' | xargs rmmod
if tc qdisc add dev eth0 root qsdrr 2>&1; then exit 1; fi
for left in "$here"/updates "$here"/*/sch_* "$tc_dir"/q_qsdrr* /usr/share/man/man8/tc-qsdrr* \
	/usr/sbin/sch-aqm*; do
	[[ ! -e $left ]] || { echo "left: $left"; exit 1; }
done
echo "typed to the end"
