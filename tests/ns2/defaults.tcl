# SPDX-License-Identifier: Apache-2.0
# What ns-2.35's radio is before a script sets anything.
#
#   ns defaults.tcl
#
# Prints "NAME VALUE" lines: variables of classes in ns-2's units, and the watts of an EnergyModel whose
# script gives none. ns-2 does not name those, so one station sends to one that listens, and what each
# spent in 30 s is divided by the time on the air. A station that is idle must therefore spend nothing.
foreach {class names} {
    Mac/802_11 {
        dataRate_ basicRate_ PLCPDataRate_ PreambleLength_ PLCPHeaderLength_ RTSThreshold_
        ShortRetryLimit_ LongRetryLimit_ CWMin_ CWMax_ SlotTime_ SIFS_
    }
    Phy/WirelessPhy {CSThresh_ RXThresh_ CPThresh_ Pt_ freq_ L_}
    Antenna/OmniAntenna {Z_ Gt_ Gr_}
    Queue {limit_}
} {
    foreach name $names { puts "$class/$name [string map {Mb e6 kb e3} [$class set $name]]" }
}

set ns_ [new Simulator]
set pipe [file tempfile trace]
$ns_ trace-all $pipe
set plane [new Topography]
$plane load_flatgrid 200 200
create-god 2
$ns_ node-config -adhocRouting DumbAgent -llType LL -macType Mac/802_11 -ifqType CMUPriQueue \
    -ifqLen 50 -antType Antenna/OmniAntenna -propType Propagation/TwoRayGround \
    -phyType Phy/WirelessPhy -channel [new Channel/WirelessChannel] -topoInstance $plane \
    -energyModel EnergyModel -initialEnergy 1000 -agentTrace OFF -routerTrace OFF -macTrace ON
for {set i 0} {$i < 2} {incr i} {
    set node_($i) [$ns_ node]
    $node_($i) random-motion 0
    foreach {axis at} [list X_ [expr {1 + 100 * $i}] Y_ 1 Z_ 0] { $node_($i) set $axis $at }
}
# The first frame on the air asks for an address (ARP), for both stations to hear or send, and nothing
# answers: the packet is for a station that does not exist.
set udp [new Agent/UDP]
$ns_ attach-agent $node_(0) $udp
$ns_ at 1.0 "$udp set dst_addr_ 5; $udp set dst_port_ 0; $udp send 500"
$ns_ at 31.0 {
    flush $pipe
    seek $pipe 0
    while {[gets $pipe line] >= 0} {
        # s TIME _STATION_ MAC --- NUMBER TYPE OCTETS, all octets at the basic rate
        if {[regexp {^s \S+ _0_ MAC +--- \d+ \S+ (\d+)} $line _ octets]} {
            set air [expr {8e-6 * $octets}]
        }
    }
    # ns-2 tells energies to 1 uJ.
    foreach {name i} {tx_w 0 rx_w 1} {
        puts "EnergyModel/$name [format %.3f [expr {(1000 - [$node_($i) energy]) / $air}]]"
    }
    exit 0
}
$ns_ run
