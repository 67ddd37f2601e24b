# SPDX-License-Identifier: Apache-2.0
# One TCP Reno flow over a chain of stations 200 m apart, routed by DSR.
#
#   ns chain.tcl -stations 4 -time 100 -trace FILE
#
# Prints "acknowledged N timeouts N", N packets of 1460 octets.
array set opt {spacing 200 window 8 bytes 1460 start 1.0}
source [file join [file dirname [info script]] radio.tcl]
read_options $argv

set tcp [chain_of_reno $opt(bytes) 40]
$ns_ at [expr {$opt(start) + $opt(time)}] {
    puts "acknowledged [expr {[$tcp set ack_] + 1}] timeouts [$tcp set nrexmit_]"
    $ns_ flush-trace
    exit 0
}
$ns_ run
