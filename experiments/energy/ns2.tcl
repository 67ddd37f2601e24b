# SPDX-License-Identifier: Apache-2.0
# The study's set-up in ns-2.35: one FTP over four stations in a line, DSR; every frame, control frames
# too, is lost at each receiver with a probability (ErrorModel between channel and MAC).
#
#   ns ns2.tcl -tcp Reno -rts 0 -bytes 1500 -rate 0.01 -tx 1 -rx 0 -idle 0
#
# Prints "mbit M sender J all J": payload acknowledged, energy of the sender and of all stations.
# A burst, 85 % for 1 s at the end of every 12 s: -rate 0 -burst 1. "-layer packets" loses packets
# between MAC and DSR instead, which only TCP repeats; "-at n3" at the receiver alone.
array set opt {tcp Reno rts 0 bytes 1500 rate 0.01 burst 0 layer frames at all tx 1 rx 1 idle 1
    seed 1 time 40 start 1.0 window 20}
foreach {name value} $argv { set opt([string trimleft $name -]) $value }
set joules 1e6

ns-random $opt(seed)
set ns [new Simulator]
$ns trace-all [open /dev/null w]
set plane [new Topography]
$plane load_flatgrid 800 100
create-god 4
Mac/802_11 set dataRate_ 2Mb
Mac/802_11 set RTSThreshold_ $opt(rts)
$ns node-config -adhocRouting DSR -llType LL -macType Mac/802_11 -ifqType CMUPriQueue -ifqLen 50 \
    -antType Antenna/OmniAntenna -propType Propagation/TwoRayGround -phyType Phy/WirelessPhy \
    -channel [new Channel/WirelessChannel] -topoInstance $plane \
    -agentTrace OFF -routerTrace OFF -macTrace OFF -energyModel EnergyModel \
    -initialEnergy $joules -txPower $opt(tx) -rxPower $opt(rx) -idlePower $opt(idle)

proc errors {} {
    global opt ns
    set errors [new ErrorModel]
    $errors unit pkt
    $errors set rate_ $opt(rate)
    set draws [new RandomVariable/Uniform]
    $draws set min_ 0
    $draws set max_ 1
    $errors ranvar $draws
    for {set at 12} {$opt(burst) && $at <= $opt(time)} {incr at 12} {
        $ns at [expr {$opt(start) + $at - 1}] "$errors set rate_ 0.85"
        $ns at [expr {$opt(start) + $at}] "$errors set rate_ 0"
    }
    return $errors
}

for {set i 0} {$i < 4} {incr i} {
    set lossy [expr {$opt(at) eq "all" || $i == 3}]
    $ns node-config -IncomingErrProc [expr {$lossy && $opt(layer) eq "frames" ? "errors" : ""}]
    set node($i) [$ns node]
    $node($i) random-motion 0
    $node($i) set X_ [expr {200 * $i + 1}]
    $node($i) set Y_ 10
    $node($i) set Z_ 0
    if {$lossy && $opt(layer) eq "packets"} {
        set model [errors]
        [$node($i) set mac_(0)] up-target $model
        $model target [$node($i) set ll_(0)]
    }
}

set tcp [new Agent/TCP/$opt(tcp)]
# packetSize_ is what TCP carries; headers of 40 octets come on top.
$tcp set packetSize_ [expr {$opt(bytes) - 40}]
$tcp set window_ $opt(window)
set sink [new Agent/TCPSink[expr {$opt(tcp) eq "Sack1" ? "/Sack1" : ""}]]
$ns attach-agent $node(0) $tcp
$ns attach-agent $node(3) $sink
$ns connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp
$ns at $opt(start) "$ftp start"
$ns at [expr {$opt(start) + $opt(time)}] {
    set all 0
    for {set i 0} {$i < 4} {incr i} { set all [expr {$all + $joules - [$node($i) energy]}] }
    set own [expr {$joules - [$node(0) energy]}]
    puts "mbit [expr {max(0, [$tcp set ack_]) * ($opt(bytes) - 40) * 8e-6}] sender $own all $all"
    exit 0
}
$ns run
