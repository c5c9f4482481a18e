# SPDX-License-Identifier: GPL-2.0
# Jou and Baras 2003, table III, drop-tail, in the simulator of the paper, ns-2. Prints one line of JSON.
#
#   ns papers/ns2/jou2003.tcl rtt=64.7 seed=1
#
# The workload is `mix` of papers/jou2003: 10 long flows from the start, 800 web clients and CBR from 30 s,
# measured from 60 to 210 s. The web servers are on `servers` nodes with evenly spread round-trip times.

# CLASS.VARIABLE sets a variable of ns-2. The values are ns-2's defaults of early 2003, by the dates in
# tcl/lib/ns-default.tcl, and those of the paper. jitter: random delay of each TCP packet, s.
array set of {
	seed 1   rtt 64   access 10   jitter 0   cbr_random 0   tcp TCP/Reno
	limit 160   in_bytes 0   servers 32   clients 800   think 50
	Agent/TCP.window_ 64   Agent/TCP.packetSize_ 1000   Agent/TCP.useHeaders_ 1   Agent/TCP.windowInit_ 2
	Agent/TCP.tcpTick_ 0.01   Agent/TCP.minrto_ 1   Agent/TCP.rtxcur_init_ 6   Agent/TCP.updated_rttvar_ 0
	Agent/TCP.precisionReduce_ 0   Agent/TCP.singledup_ 1
}
source [file join [file dirname [info script]] words.tcl]
foreach name [array names of *.*] {
	lassign [split $name .] class variable
	$class set $variable $of($name)
}
Agent/TCP set overhead_ $of(jitter)

set ns [new Simulator]
$defaultRNG seed $of(seed)
set draw [new RNG]

set near [$ns node]
set far [$ns node]
$ns duplex-link $near $far 3Mb 2ms DropTail
$ns queue-limit $near $far $of(limit)
$ns queue-limit $far $near 10000
set bottleneck [$ns link $near $far]
[$bottleneck queue] set queue_in_bytes_ $of(in_bytes)
[$bottleneck queue] set mean_pktsize_ 1000
set classes [$ns makeflowmon Fid]
$ns attach-fmon $bottleneck $classes

# Return a node behind an access link, with a total round-trip time of rtt_ms.
proc node_at {rtt_ms} {
	global ns near of
	set node [$ns node]
	$ns duplex-link $node $near $of(access)Mb [expr {$rtt_ms / 2.0 - 2}]ms DropTail
	$ns queue-limit $node $near 10000
	return $node
}

# Attach a sender to a node and its sink to the far node, and connect them. class: 1 long, 2 web, 3 cbr
proc connected {node agent sink class} {
	global ns far
	$agent set fid_ $class
	$ns attach-agent $node $agent
	$ns attach-agent $far $sink
	$ns connect $agent $sink
}

for {set i 0} {$i < 10} {incr i} {
	set tcp [new Agent/$of(tcp)]
	connected [node_at $of(rtt)] $tcp [new Agent/TCPSink] 1
	$ns at [$draw uniform 0 1] "[$tcp attach-app FTP] start"
}

# Send a file on a new connection. Sizes have a Pareto distribution: minimum 2.3 kB, exponent 1.3.
proc ask {tcp} {
	global sink_of draw_of
	$tcp reset
	$sink_of($tcp) reset
	set bytes [expr {2300 / pow(1 - [$draw_of($tcp) uniform 0 1], 1 / 1.3)}]
	$tcp advanceby [expr {int(ceil($bytes / 1000))}]
}

Agent/TCP instproc done {} {
	global ns of draw_of
	if {[info exists draw_of($self)]} {
		$ns after [$draw_of($self) exponential $of(think)] "ask $self"
	}
}

for {set i 0} {$i < $of(servers)} {incr i} {
	set server($i) [node_at [expr {16 + 224 * ($i + 0.5) / $of(servers)}]]
}
for {set i 0} {$i < $of(clients)} {incr i} {
	set tcp [new Agent/$of(tcp)]
	set sink_of($tcp) [new Agent/TCPSink]
	set draw_of($tcp) [new RNG]
	connected $server([expr {$i % $of(servers)}]) $tcp $sink_of($tcp) 2
	$ns at [expr {30 + [$draw_of($tcp) exponential $of(think)]}] "ask $tcp"
}

set udp [new Agent/UDP]
$udp set packetSize_ 1000
connected [node_at 64] $udp [new Agent/Null] 3
set cbr [new Application/Traffic/CBR]
$cbr set packetSize_ 1000
$cbr set interval_ 50ms
$cbr set random_ $of(cbr_random)
$cbr attach-agent $udp
$ns at [expr {30 + [$draw uniform 0 0.05]}] "$cbr start"

proc counted {} {
	global classes
	foreach class [$classes flows] {
		foreach what {parrivals_ pdrops_ bdepartures_} {
			lappend now [$class set flowid_],$what [$class set $what]
		}
	}
	return $now
}

proc say {} {
	global at_first of
	array set first $at_first
	array set last [counted]
	foreach {class name} {1 long 2 web 3 cbr} {
		foreach what {parrivals_ pdrops_ bdepartures_} {
			set $what [expr {$last($class,$what) - $first($class,$what)}]
		}
		lappend words [format {"%s": {"loss": %.5f, "kbyte_s": %.1f}} $name \
			[expr {double($pdrops_) / $parrivals_}] [expr {$bdepartures_ / 150e3}]]
	}
	foreach name [lsort [array names of]] { lappend words "\"$name\": \"$of($name)\"" }
	puts "{[join $words {, }]}"
	exit 0
}

$ns at 60 {set at_first [counted]}
$ns at 210 say
$ns run
