# SPDX-License-Identifier: GPL-2.0
"""Build a run from a scenario and execute it.

arguments, params, settings, tcp_profile   what a user chooses
scenario, group, flows          what sends, and when
network, links, trace, radio    nodes and links, as a scenario describes them
layout, veths, queues           where shapers, delays and disciplines are: objects
topology, objects, render       the network as namespaces, and the lines for ip and tc
recipe, commands, steps         the run as data, and the programs that carry it out
congestion_control, host_requirements, unchanged_kernel   what is refused
play                            a shell in the network, instead of a run
execute, outcome, here          start them in a guest or on this machine, and read what is left
"""
