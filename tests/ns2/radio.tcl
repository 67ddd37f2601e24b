# SPDX-License-Identifier: Apache-2.0
# What the scripts for ns-2.35 share: options, the 914 MHz WaveLAN as ns-2 ships it, DSR, stations.
# Sourced. Every option is "-name value" on the command line. Data go at -mbps: 2, as most scripts set
# for a WaveLAN, where ns-2.35 as it comes has 1.

source [file join [file dirname [info script]] options.tcl]
array set opt {stations 2 seed 1 time 100 mbps 2 rts 0 trace /dev/null moves "" width 1500 height 300}

# The simulator and as many stations as opt(stations) says, at (1, 1), as $node_(I).
# Traced are what applications send and receive (AGT) and what DSR hands down (RTR).
proc make_network {width height} {
    global opt ns_ node_
    ns-random $opt(seed)
    set ns_ [new Simulator]
    $ns_ trace-all [open $opt(trace) w]
    set plane [new Topography]
    $plane load_flatgrid $width $height
    create-god $opt(stations)
    Mac/802_11 set dataRate_ $opt(mbps)Mb
    Mac/802_11 set RTSThreshold_ $opt(rts)
    $ns_ node-config -adhocRouting DSR -llType LL -macType Mac/802_11 -ifqType CMUPriQueue \
        -ifqLen 50 -antType Antenna/OmniAntenna -propType Propagation/TwoRayGround \
        -phyType Phy/WirelessPhy -channel [new Channel/WirelessChannel] -topoInstance $plane \
        -agentTrace ON -routerTrace ON -macTrace OFF
    for {set i 0} {$i < $opt(stations)} {incr i} {
        set node_($i) [$ns_ node]
        $node_($i) random-motion 0
        place $i 1 1
    }
}

proc place {station x y} {
    global node_
    $node_($station) set X_ $x
    $node_($station) set Y_ $y
    $node_($station) set Z_ 0
}

# One TCP Reno flow over a chain of all stations, opt(spacing) m apart; returns its sender.
proc chain_of_reno {packet_bytes acknowledgement_bytes} {
    global opt ns_ node_
    make_network [expr {$opt(stations) * $opt(spacing) + 100}] 100
    for {set i 0} {$i < $opt(stations)} {incr i} {
        place $i [expr {$i * $opt(spacing) + 1}] 10
    }
    set tcp [new Agent/TCP/Reno]
    $tcp set packetSize_ $packet_bytes
    $tcp set window_ $opt(window)
    set sink [new Agent/TCPSink]
    $sink set packetSize_ $acknowledgement_bytes
    $ns_ attach-agent $node_(0) $tcp
    $ns_ attach-agent $node_([expr {$opt(stations) - 1}]) $sink
    $ns_ connect $tcp $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns_ at $opt(start) "$ftp start"
    return $tcp
}
