#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs in a guest: make a TCP transfer with random loss between two namespaces, then print everything
# that depends on random numbers. Two runs with one seed must print the same.
set -euo pipefail

for name in left right; do
	ip netns add "$name"
	ip -n "$name" link set lo up
done
ip -n left link add eth0 type veth peer name eth0 netns right
n=1
for name in left right; do
	ip -n "$name" addr add "10.0.0.$n/24" dev eth0
	ip -n "$name" link set eth0 up
	n=$((n + 1))
done
tc -n left qdisc add dev eth0 root netem rate 20mbit delay 5ms 1ms distribution normal loss 1%
tc -n right qdisc add dev eth0 root netem delay 5ms loss 0.5%

ip netns exec right python3 - <<'PYTHON' &
import socket
with socket.create_server(("10.0.0.2", 5001)) as server:
    peer, _ = server.accept()
    while peer.recv(1 << 20):
        pass
PYTHON
until ip netns exec right ss -Hltn | grep -q 5001; do sleep 0.01; done
ip netns exec left python3 - <<'PYTHON'
import socket
with socket.create_connection(("10.0.0.2", 5001)) as peer:
    peer.sendall(bytes(4 << 20))
PYTHON
wait
tc -n left -s qdisc show dev eth0
tc -n right -s qdisc show dev eth0
cat /proc/sys/kernel/random/uuid
head -c 16 /dev/urandom | od -An -tx1
date +%s.%N
