# SPDX-License-Identifier: Apache-2.0
# One TCP Reno flow over a chain of stations 200 m apart, routed by DSR.
#
#   ns chain.tcl -stations 4 -time 100 -trace FILE
#
# Prints "acknowledged N timeouts N", N packets of 1460 octets.
array set opt {spacing 200 window 8 bytes 1460 start 1.0}
source [file join [file dirname [info script]] radio.tcl]
read_options $argv

make_network [expr {$opt(stations) * $opt(spacing) + 100}] 100
for {set i 0} {$i < $opt(stations)} {incr i} {
    place $i [expr {$i * $opt(spacing) + 1}] 10
}
set tcp [new Agent/TCP/Reno]
$tcp set packetSize_ $opt(bytes)
$tcp set window_ $opt(window)
set sink [new Agent/TCPSink]
$ns_ attach-agent $node_(0) $tcp
$ns_ attach-agent $node_([expr {$opt(stations) - 1}]) $sink
$ns_ connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp
$ns_ at $opt(start) "$ftp start"
$ns_ at [expr {$opt(start) + $opt(time)}] {
    puts "acknowledged [expr {[$tcp set ack_] + 1}] timeouts [$tcp set nrexmit_]"
    $ns_ flush-trace
    exit 0
}
$ns_ run
