# SPDX-License-Identifier: Apache-2.0
# The study's set-up in ns-2.35: one FTP over four stations in a line, DSR; every frame, control frames
# too, is lost at each receiver with a probability (ErrorModel between channel and MAC).
#
#   ns ns2.tcl -tcp Reno -rts 0 -bytes 1500 -rate 0.01 -trace FILE
#
# A radio draws 1 W in every state, so joules are seconds. Prints "mbit M joules J J J J": payload
# acknowledged, what each station used; the trace's last line of a station has its parts by state.
# A burst, 85 % for 1 s at the end of every 12 s: -rate 0 -burst 1. "-layer packets" loses packets
# between MAC and DSR instead, which only TCP repeats; "-at n3" at the receiver alone. "-delack 1" is a
# receiver that acknowledges every second segment, or after 100 ms. "-timer 1": the
# first timeout is after 1 s.
array set opt {tcp Reno rts 0 bytes 1500 rate 0.01 burst 0 layer frames at all delack 0 timer 3
    seed 1 time 40 start 1.0 window 20 trace /dev/null}
foreach {name value} $argv { set opt([string trimleft $name -]) $value }
set joules 1e6

ns-random $opt(seed)
set ns [new Simulator]
$ns trace-all [open $opt(trace) w]
set plane [new Topography]
$plane load_flatgrid 800 100
create-god 4
Mac/802_11 set dataRate_ 2Mb
Mac/802_11 set RTSThreshold_ $opt(rts)
$ns node-config -adhocRouting DSR -llType LL -macType Mac/802_11 -ifqType CMUPriQueue -ifqLen 50 \
    -antType Antenna/OmniAntenna -propType Propagation/TwoRayGround -phyType Phy/WirelessPhy \
    -channel [new Channel/WirelessChannel] -topoInstance $plane \
    -agentTrace OFF -routerTrace ON -macTrace OFF -energyModel EnergyModel \
    -initialEnergy $joules -txPower 1 -rxPower 1 -idlePower 1

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

# An agent takes it when it is made.
Agent/TCP set rtxcur_init_ $opt(timer)
set tcp [new Agent/TCP/$opt(tcp)]
# packetSize_ is what TCP carries; headers of 40 octets come on top.
$tcp set packetSize_ [expr {$opt(bytes) - 40}]
$tcp set window_ $opt(window)
set kind Agent/TCPSink
if {$opt(tcp) eq "Sack1"} { append kind /Sack1 }
if {$opt(delack)} { append kind /DelAck }
set sink [new $kind]
$ns attach-agent $node(0) $tcp
$ns attach-agent $node(3) $sink
$ns connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp
$ns at $opt(start) "$ftp start"
$ns at [expr {$opt(start) + $opt(time)}] {
    for {set i 0} {$i < 4} {incr i} { lappend used [expr {$joules - [$node($i) energy]}] }
    puts "mbit [expr {max(0, [$tcp set ack_]) * ($opt(bytes) - 40) * 8e-6}] joules $used"
    $ns flush-trace
    exit 0
}
$ns run
