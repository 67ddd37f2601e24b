# SPDX-License-Identifier: Apache-2.0
# Two TCP flows of different round-trip times through one bottleneck of 10 Mbit/s and 50 packets.
#
#   ns round_trips.tcl -variant Sack1 -far 24 -back 5 -seed 1
#
# Without queues a round trip takes 4 ms for the first flow and -far ms for the second. Prints "share X",
# the second's part of what both delivered from 10 to 60 s. -back Mbit/s of constant-rate packets with
# random spacing go the other way, among the acknowledgements. -overhead draws up to so many seconds
# before each packet that TCP sends: 0.0008 is a packet's time at the bottleneck.
# The first sender's link is longer by -nearer ms, the second's by -farther. -ahead ms is the time by
# which the bottleneck's queue releases a packet before its transmission. -variant Linux is ns-2's
# TCP-Linux, with Reno.
array set opt {
    variant Sack1 far 24 back 0 overhead 0 nearer 0 farther 0 ahead 0 queue 51 tcp windowInit_=1 seed 1
}
source [file join [file dirname [info script]] options.tcl]
read_options $argv

# Neighbouring seeds of the multiplicative generator begin alike.
ns-random [expr {$opt(seed) * 179424673 % 2147483647}]
Agent/TCP set overhead_ $opt(overhead)
Agent/TCP set windowInit_ 1
Agent/TCP set {*}[split $opt(tcp) =]
set ns [new Simulator]
set start [new RandomVariable/Uniform]
$start set min_ 0
$start set max_ 1.0
for {set i 1} {$i <= 6} {incr i} { set n($i) [$ns node] }
foreach {a b mbps ms packets} [list \
    1 2 100 [expr {1 + $opt(nearer)}] 10000 \
    5 2 100 [expr {$opt(far) / 2.0 - 1 + $opt(farther)}] 10000 \
    2 3 10 0.5 $opt(queue) \
    3 4 100 0.5 10000  3 6 100 0.5 10000] {
    $ns duplex-link $n($a) $n($b) ${mbps}Mb ${ms}ms DropTail
    $ns queue-limit $n($a) $n($b) $packets
    $ns queue-limit $n($b) $n($a) 10000
}
$ns delay $n(2) $n(3) [expr {0.5 + $opt(ahead)}]ms simplex

foreach {name from to} {near 1 4 far 5 6} {
    set tcp($name) [new Agent/TCP/$opt(variant)]
    $tcp($name) set packetSize_ 1000
    $tcp($name) set window_ 1000
    set sink [new Agent/TCPSink[expr {$opt(variant) in {Sack1 Linux} ? "/Sack1" : ""}]]
    # An acknowledgement with its Ethernet header.
    $sink set packetSize_ 54
    $ns attach-agent $n($from) $tcp($name)
    $ns attach-agent $n($to) $sink
    $ns connect $tcp($name) $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($name)
    $ns at [$start value] "$ftp start"
}
if {$opt(back) > 0} {
    set udp [new Agent/UDP]
    $udp set packetSize_ 1000
    set null [new Agent/Null]
    $ns attach-agent $n(3) $udp
    $ns attach-agent $n(2) $null
    $ns connect $udp $null
    set cbr [new Application/Traffic/CBR]
    $cbr set packetSize_ 1000
    $cbr set rate_ $opt(back)Mb
    $cbr set random_ 1
    $cbr attach-agent $udp
    $ns at 0.0 "$cbr start"
}

$ns at 10.0 { foreach name {near far} { set before($name) [$tcp($name) set ack_] } }
$ns at 60.0 {
    foreach name {near far} { set count($name) [expr {[$tcp($name) set ack_] - $before($name)}] }
    puts [format "share %.4f" [expr {1.0 * $count(far) / ($count(near) + $count(far))}]]
    exit 0
}
$ns run
