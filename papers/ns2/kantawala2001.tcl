# SPDX-License-Identifier: GPL-2.0
# Kantawala and Turner 2001, figures 2 to 4, in the simulator of the paper, ns-2, as a second opinion on the
# kernel's results. Prints one line of JSON.
#
#   ns papers/ns2/kantawala2001.tcl topology=rtt queue=DRR buffer=100 seed=1

# CLASS.VARIABLE sets a variable of ns-2. TCP's values are ns-2's defaults of May 2001, by the dates in its
# tcl/lib/ns-default.tcl. The other values are the paper's, or our choice where it gives none. Times are in s,
# round-trip times in ms, rates in Mb/s, buffers in packets.
array set of {
	topology single   queue DRR   buffer 200   seed 1   duration 100   warmup 0   spread 0
	rtt 50   near_rtt 40   far_rtt 200   hop_rtt 50   flows 100   rate 500   access 10   access_buffer 50   pacing 0
	tcp Reno   sink TCPSink   red_min 0.2   red_max 1   max_p 0.01   d1 0.0025   d2 0.00025   freeze 0.1
	Agent/TCP.window_ 1000   Agent/TCP.windowInit_ 1   Agent/TCP.packetSize_ 1460   Agent/TCP.overhead_ 0
	Agent/TCP.tcpTick_ 0.1   Agent/TCP.minrto_ 0   Agent/TCP.rfc2988_ 0   Agent/TCP.rtxcur_init_ 6
	Agent/TCP.precisionReduce_ 0   Agent/TCP.updated_rttvar_ 0   Agent/TCP.singledup_ 0   Agent/TCP.syn_ 0
	Agent/TCP.delay_growth_ 0   Agent/TCP.tcpip_base_hdr_size_ 40
	Queue/DRR.buckets_ 4096   Queue/DRR.quantum_ 1500   Queue/DRR.mask_ 0
	Queue/RED.q_weight_ 0.001   Queue/RED.gentle_ 0   Queue/RED.bytes_ 0   Queue/RED.queue_in_bytes_ 0
}
source [file join [file dirname [info script]] words.tcl]

set wire [expr {$of(Agent/TCP.packetSize_) + $of(Agent/TCP.tcpip_base_hdr_size_)}]
remove-all-packet-headers
add-packet-header IP TCP Flags
set ns [new Simulator]
ns-random $of(seed)
expr {srand($of(seed))}

foreach name [array names of *.*] {
	lassign [split $name .] class variable
	$class set $variable $of($name)
}
Queue/DRR set blimit_ [expr {$of(buffer) * $wire}]
Queue/RED set thresh_ [expr {$of(red_min) * $of(buffer)}]
Queue/RED set maxthresh_ [expr {$of(red_max) * $of(buffer)}]
Queue/RED set linterm_ [expr {1 / $of(max_p)}]
Queue/RED set mean_pktsize_ $wire

# Create a bottleneck. ns-2 has no Blue, so we build it from random losses before a tail-drop queue. Every
# freeze time, `blue` checks whether the queue has overflowed or the link has been idle.
proc bottleneck {from to delay} {
	global ns of monitors
	set kind [expr {$of(queue) eq "Blue" ? "DropTail" : $of(queue)}]
	$ns simplex-link $from $to $of(rate)Mb $delay $kind
	$ns queue-limit $from $to $of(buffer)
	set monitor [$ns monitor-queue $from $to ""]
	if {$of(queue) eq "Blue"} {
		set losses [new ErrorModel]
		$losses unit pkt
		$losses set rate_ 0
		$losses ranvar [new RandomVariable/Uniform]
		$ns lossmodel $losses $from $to
		$losses drop-target [new Agent/Null]	;# so that the monitor does not count them as the queue's
		$ns at $of(freeze) [list blue $losses $monitor 0 0]
	}
	$ns simplex-link $to $from $of(rate)Mb $delay DropTail
	$ns queue-limit $to $from 100000
	lappend monitors $monitor
}

proc blue {losses monitor drops left} {
	global ns of wire
	set p [$losses set rate_]
	set room [expr {$of(rate) * 1e6 / 8 * $of(freeze) - $wire * ([$monitor set pdepartures_] - $left)}]
	if {[$monitor set pdrops_] > $drops} {
		set p [expr {min(1.0, $p + $of(d1))}]
	} elseif {$room > 1.5 * $wire} {
		set p [expr {max(0.0, $p - $of(d2))}]
	}
	$losses set rate_ $p
	$ns at [expr {[$ns now] + $of(freeze)}] \
		[list blue $losses $monitor [$monitor set pdrops_] [$monitor set pdepartures_]]
}

# Create a sender with its own access link. Its receiver is on the last router.
proc flow {group from to delay rtt} {
	global ns of sinks
	set source [$ns node]
	$ns duplex-link $source $from $of(access)Mb $delay DropTail
	$ns queue-limit $source $from $of(access_buffer)
	$ns queue-limit $from $source 100000
	set tcp [new Agent/TCP/$of(tcp)]
	set sink [new Agent/$of(sink)]
	$ns attach-agent $source $tcp
	$ns attach-agent $to $sink
	$ns connect $tcp $sink
	set ftp [new Application/FTP]
	$ftp attach-agent $tcp
	$ns at [expr {$of(spread) * rand()}] "$ftp start"
	if {$of(pacing)} { $ns at 0 [list pace $tcp [[$ns link $source $from] link] $rtt] }
	lappend sinks($group) $sink
}

# Pace TCP as Linux's `fq` does: at `pacing` (Linux: 1.2) windows per round trip, in slow start at 2. Needs a
# large access_buffer.
proc pace {tcp link rtt} {
	global ns of wire
	set window [$tcp set cwnd_]
	set times [expr {$window < [$tcp set ssthresh_] / 2.0 ? 2 : $of(pacing)}]
	$link set bandwidth_ [expr {min($of(access) * 1e6, $times * 8e3 * $wire * $window / $rtt)}]
	$ns at [expr {[$ns now] + $rtt / 2e3}] [list pace $tcp $link $rtt]
}

set half [expr {$of(flows) / 2}]
switch $of(topology) {
	single {
		set routers [list [$ns node] [$ns node]]
		bottleneck {*}$routers 0
		for {set i 0} {$i < $of(flows)} {incr i} { flow all {*}$routers [expr {$of(rtt) / 2.0}]ms $of(rtt) }
	}
	rtt {
		set routers [list [$ns node] [$ns node]]
		bottleneck {*}$routers 0
		foreach group {near far} {
			set rtt $of(${group}_rtt)
			for {set i 0} {$i < $half} {incr i} { flow $group {*}$routers [expr {$rtt / 2.0}]ms $rtt }
		}
	}
	hops {
		for {set hop 0} {$hop < 4} {incr hop} { lappend routers [$ns node] }
		for {set i 0} {$i < $half} {incr i} { flow end [lindex $routers 0] [lindex $routers 3] 0 [expr {3 * $of(hop_rtt)}] }
		for {set hop 0} {$hop < 3} {incr hop} {
			set ends [lrange $routers $hop $hop+1]
			bottleneck {*}$ends [expr {$of(hop_rtt) / 2.0}]ms
			for {set i 0} {$i < $half} {incr i} { flow cross[expr {$hop + 1}] {*}$ends 0 $of(hop_rtt) }
		}
	}
	default { puts stderr "topology: single, rtt or hops"; exit 2 }
}

proc begin {} {
	global sinks monitors at_start
	foreach group [array names sinks] { foreach sink $sinks($group) { set at_start($sink) [$sink set bytes_] } }
	foreach monitor $monitors {
		set at_start($monitor) [list [$monitor set pdepartures_] [$monitor set pdrops_]]
	}
}

proc end {} {
	global of wire sinks monitors at_start
	set fair [expr {$of(rate) * 1e6 / $of(flows)}]
	set time [expr {$of(duration) - $of(warmup)}]
	foreach group [lsort [array names sinks]] {
		set n 0; set sum 0.0; set squares 0.0
		foreach sink $sinks($group) {
			set share [expr {8.0 * ([$sink set bytes_] - $at_start($sink)) / $time / $fair}]
			incr n
			set sum [expr {$sum + $share}]
			set squares [expr {$squares + $share * $share}]
		}
		set mean [expr {$sum / $n}]
		set sd [expr {sqrt(max(0.0, ($squares - $n * $mean * $mean) / ($n - 1)))}]
		lappend groups [format {"%s": {"share_of_fair": %.4f, "sd_over_fair_share": %.4f}} $group $mean $sd]
	}
	set monitor [lindex $monitors 0]
	lassign $at_start($monitor) left drops
	set bits [expr {8.0 * $wire * ([$monitor set pdepartures_] - $left)}]
	set drops [expr {[$monitor set pdrops_] - $drops}]
	foreach name [lsort [array names of]] { lappend parameters "\"$name\": \"$of($name)\"" }
	puts [format {{"parameters": {%s}, "groups": {%s}, "utilization": %.4f, "drops": %.0f}} \
		[join $parameters {, }] [join $groups {, }] [expr {$bits / $time / $of(rate) / 1e6}] $drops]
	exit 0
}

$ns at $of(warmup) begin
$ns at $of(duration) end
$ns run
