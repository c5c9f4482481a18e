# SPDX-License-Identifier: GPL-2.0
"""Two TCP flows through a router, with NeST: two_flows.py KIND. Run it in an empty directory."""

import sys

from nest.experiment import Experiment, Flow
from nest.topology import Node, Router, connect
from nest.topology.address_helper import AddressHelper
from nest.topology.network import Network

near, far = Network("10.1.0.0/24"), Network("10.2.0.0/24")
source, router, sink = Node("source"), Router("router"), Node("sink")
source_if, router_near = connect(source, router, network=near)
router_far, sink_if = connect(router, sink, network=far)
AddressHelper.assign_addresses()
source.add_route("DEFAULT", source_if)
sink.add_route("DEFAULT", sink_if)
for interface in (source_if, router_near, sink_if):
    interface.set_attributes("1000mbit", "1ms")
router_far.set_attributes("20mbit", "10ms", sys.argv[1])
experiment = Experiment("two_flows")
experiment.add_tcp_flow(Flow(source, sink, sink_if.get_address(), 0, 3, 2), "cubic", tool="iperf3")
experiment.require_qdisc_stats(router_far)
experiment.run()
