# SPDX-License-Identifier: Apache-2.0
# The chain study of 1999 in ns-2.35: one TCP Reno flow over stations 200 m apart, routed by DSR.
#
#   ns hv99.tcl -stations 4 -tries 10 -seed 1
#
# Every frame at 2 Mbit/s, carrier sense over three hops (650 m), RTS; 10 tries, or so many that no
# link ever fails and routing plays no part (-tries 1000). A packet's size is all of it, 1460 octets:
# the 20 octets by which DSR's header in ns-2.35 is longer are taken off. Prints
# "kbps X timeouts N".
array set opt {spacing 200 window 8 bytes 1460 start 1.0 tries 10}
source [file join [file dirname [info script]] radio.tcl]
read_options $argv

Mac/802_11 set basicRate_ 2Mb
Mac/802_11 set PLCPDataRate_ 2.0e6
Mac/802_11 set ShortRetryLimit_ $opt(tries)
Mac/802_11 set LongRetryLimit_ [expr {$opt(tries) > 100 ? $opt(tries) : 4}]
Phy/WirelessPhy set CSThresh_ 7.99e-12
# TCP of the late 1990s in ns-2.
Agent/TCP set useHeaders_ false
Agent/TCP set windowInit_ 1
Agent/TCP set tcpTick_ 0.1
Agent/TCP set singledup_ 0
Agent/TCP set minrto_ 0
Agent/TCP set rtxcur_init_ 6.0

set tcp [chain_of_reno [expr {$opt(bytes) - 20}] 20]
$ns_ at [expr {$opt(start) + $opt(time)}] {
    set kbps [expr {[$tcp set ack_] * $opt(bytes) * 8e-3 / $opt(time)}]
    puts "kbps [format %.1f $kbps] timeouts [$tcp set nrexmit_]"
    exit 0
}
$ns_ run
