# SPDX-License-Identifier: Apache-2.0
# One TCP flow for 100 s through DropTail or RED, and from 40 s on constant-rate traffic of 7 Mbit/s.
#
#   ns red.tcl -variant SACK -queue RED -min 15 -max 45 -invp 10 -seed 1
#
# Prints the flow's acknowledged Mbit/s, its packets sent and lost, those lost before 45 s, the drop rate,
# the mean time from n1 to n4 in ms, and the timeouts. -invp is the inverse of RED's largest
# probability, -wq the weight of its average; links have -delay ms, the sender's more by a draw of up to
# -phase ms, or by exactly -shift ms.
array set opt { variant Reno queue DropTail limit 50 window 100 cbr 7 random 1 back 0 phase 0.8 seed 1 time 100 from 40 delay 10
  min 5 max 15 invp 10 wq 0.002 gentle true adaptive false bytes false setbit false size 1000 cbrsize 1000 shift ""}
source [file join [file dirname [info script]] options.tcl]
read_options $argv
ns-random [expr {$opt(seed) * 179424673 % 2147483647}]
Queue/RED set thresh_ $opt(min)
Queue/RED set maxthresh_ $opt(max)
Queue/RED set linterm_ $opt(invp)
Queue/RED set q_weight_ $opt(wq)
Queue/RED set gentle_ $opt(gentle)
Queue/RED set adaptive_ $opt(adaptive)
Queue/RED set bytes_ $opt(bytes)
Queue/RED set queue_in_bytes_ $opt(bytes)
Queue/RED set setbit_ $opt(setbit)
set ns [new Simulator]
set part [new RandomVariable/Uniform]
for {set i 1} {$i <= 6} {incr i} { set n($i) [$ns node] }
set pipe [file tempfile trace]
foreach {a b} {1 2 5 2 2 3 3 4 3 6} {
    set delay $opt(delay)
    if {$b == 2} { set delay [expr {$delay + ($opt(shift) eq "" ? $opt(phase) * [$part value] : $opt(shift))}] }
    $ns duplex-link $n($a) $n($b) 10Mb ${delay}ms [expr {"$a$b" eq "23" ? $opt(queue) : "DropTail"}]
    $ns queue-limit $n($a) $n($b) $opt(limit)
    $ns queue-limit $n($b) $n($a) $opt(limit)
    $ns trace-queue $n($a) $n($b) $pipe
}
set tcp [new Agent/TCP/[expr {$opt(variant) eq "SACK" ? "Sack1" : $opt(variant)}]]
set sink [new Agent/TCPSink[expr {$opt(variant) eq "SACK" ? "/Sack1" : ""}]]
$tcp set packetSize_ $opt(size)
$tcp set window_ $opt(window)
$tcp set fid_ 1
$ns attach-agent $n(1) $tcp
$ns attach-agent $n(4) $sink
$ns connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp
$ns at 0.0 "$ftp start"
proc cbr {from to mbps start} {
  global ns opt n
    set udp [new Agent/UDP]
    $udp set packetSize_ $opt(cbrsize)
    set null [new Agent/Null]
    $ns attach-agent $from $udp
    $ns attach-agent $to $null
    $ns connect $udp $null
    set cbr [new Application/Traffic/CBR]
    $cbr set packetSize_ $opt(cbrsize)
    $cbr set rate_ ${mbps}Mb
    $cbr set random_ $opt(random)
    $cbr attach-agent $udp
    $ns at $start "$cbr start"
}
cbr $n(2) $n(3) $opt(cbr) $opt(from)
if {$opt(back) > 0} { cbr $n(3) $n(2) $opt(back) 0.0 }
proc tell {trace} {
    global tcp opt
    set lost 0; set early 0; set spent 0.0; set count 0; set arrived 0
    flush $trace
    seek $trace 0
    while {[gets $trace line] >= 0} {
        lassign $line event time from to type _ _ flow _ _ _ packet
        if {$type ne "tcp"} continue
        if {$event eq "+" && $from == 0} {
            set sent($packet) $time; incr count
        } elseif {$event eq "d"} { incr lost; if {$time < 45} { incr early }
        } elseif {$event eq "r" && $to == 3} {
            incr arrived; set spent [expr {$spent + $time - $sent($packet)}]
        }
    }
    puts [format "Mbit/s %.3f sent %d lost %d early %d rate %.6f delay %.3f timeouts %d" \
        [expr {[$tcp set ack_] * 8e-3 / $opt(time)}] $count $lost $early \
        [expr {1.0 * $lost / $count}] [expr {1000 * $spent / $arrived}] [$tcp set nrexmit_]]
    exit 0
}
$ns at $opt(time) "tell $pipe"
$ns run
