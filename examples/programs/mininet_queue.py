# SPDX-License-Identifier: GPL-2.0
"""Two senders behind a switch share a link of 10 Mb/s, with Mininet: mininet_queue.py QDISC."""

import json
import sys

from mininet.link import TCLink
from mininet.net import Mininet
from mininet.nodelib import LinuxBridge

QDISC = sys.argv[1]

net = Mininet(link=TCLink, switch=LinuxBridge, controller=None)
switch = net.addSwitch("s1")
router = net.addHost("r", ip="10.0.0.1/24")
senders = [
    net.addHost(f"h{n}", ip=f"10.0.0.{n + 1}/24", defaultRoute="via 10.0.0.1") for n in (1, 2)
]
sink = net.addHost("h3", ip="10.0.1.2/24", defaultRoute="via 10.0.1.1")
for node in (router, *senders):
    net.addLink(node, switch, delay="5ms")
net.addLink(router, sink, bw=10, params1={"ip": "10.0.1.1/24"})
net.start()
router.cmd("sysctl -w net.ipv4.ip_forward=1")
router.cmd(f"tc qdisc replace dev r-eth1 parent 5:1 handle 20: {QDISC}")

running = []
for n, host in enumerate(senders):
    sink.cmd(f"iperf3 -s -D -1 -p {5201 + n}")
    running.append(host.popen(f"iperf3 -c 10.0.1.2 -p {5201 + n} -t 10 -J"))
ping = sink.cmd("ping -q -i 0.1 -c 90 10.0.0.2")
for host, client in zip(senders, running, strict=True):
    end = json.loads(client.communicate()[0])["end"]
    print(f"{host.name} {end['sum_received']['bits_per_second'] / 1e6:.2f} Mb/s")
print(ping.strip().splitlines()[-1])
queues = json.loads(router.cmd("tc -j -s qdisc show dev r-eth1"))
(queue,) = [shown for shown in queues if shown["handle"] == "20:"]
print(f"{queue['kind']} dropped {queue['drops']} of {queue['packets'] + queue['drops']} packets")
net.stop()
