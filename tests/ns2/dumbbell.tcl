# SPDX-License-Identifier: Apache-2.0
# The six-node dumbbell: TCP from n1 to n4, perhaps from n5 to n6, beside constant-rate packets from
# n2 to n3, and at -back Mbit/s the other way. Links of 10 Mbit/s and 10 ms, queues of 50 packets.
#
#   ns dumbbell.tcl -first Reno -second Vegas -cbr 5 -seed 1
#
# Prints for each TCP flow "Mbit/s X lost % Y delay ms Z": acknowledged packets of 1000 octets, lost
# share of all sent, mean time from n1 (n5) to n4 (n6). -random 1 varies the constant rate's
# intervals; -phase 0.8 draws up to so many more ms for each sender's link; -alpha 2 -beta 4 are the
# thresholds of Vegas in Linux. -steady 1 is NewReno as in Linux: each partial acknowledgement starts
# the timer anew (RFC 6582, 4), and leaves the window as it is. -linux 1 adds two more of its rules for
# NewReno: a timeout in recovery leaves ssthresh, and slow start counts acknowledged packets, not
# acknowledgements. -spans "0 2 20" prints for each flow and span "FLOW: BEGIN END sent lost", its
# packets by their age at the first one.
array set opt {
    first Reno second "" cbr 5 window 100 time 20 jitter 0.1 random 0 back 0 phase 0
    alpha 1 beta 3 steady 0 linux 0 spans "" seed 1
}
source [file join [file dirname [info script]] options.tcl]
read_options $argv

# The generator is multiplicative: its first draws from 1, 2, 3, ... are all nearly 0, and with them the
# links' further delays. So seeds are spread first.
ns-random [expr {$opt(seed) * 179424673 % 2147483647}]
Agent/TCP/Vegas set v_alpha_ $opt(alpha)
Agent/TCP/Vegas set v_beta_ $opt(beta)
if {$opt(steady)} {
    Agent/TCP/Newreno set newreno_changes1_ 0
    Agent/TCP/Newreno set partial_window_deflation_ 0
}
set ns [new Simulator]
set start [new RandomVariable/Uniform]
$start set min_ 0
$start set max_ $opt(jitter)
set part [new RandomVariable/Uniform]
for {set i 1} {$i <= 6} {incr i} { set n($i) [$ns node] }
set pipe [file tempfile trace]
foreach {a b} {1 2 5 2 2 3 3 4 3 6} {
    set delay 10
    if {$b == 2} { set delay [expr {10 + $opt(phase) * [$part value]}] }
    $ns duplex-link $n($a) $n($b) 10Mb ${delay}ms DropTail
    $ns queue-limit $n($a) $n($b) 50
    $ns queue-limit $n($b) $n($a) 50
    $ns trace-queue $n($a) $n($b) $pipe
}

# Looks each millisecond at what has changed; ns-2 has no such rules to set.
proc as_in_linux {tcp {timeouts 0} {ssthresh 0} {cwnd 0} {ack 0}} {
    global ns
    if {[$tcp set nrexmit_] > $timeouts} { $tcp set ssthresh_ $ssthresh }
    set timeouts [$tcp set nrexmit_]
    set ssthresh [$tcp set ssthresh_]
    set counted [expr {$cwnd + [$tcp set ack_] - $ack}]
    if {$cwnd > 0 && $cwnd <= [$tcp set cwnd_] && [$tcp set cwnd_] < min($ssthresh, $counted)} {
        $tcp set cwnd_ [expr {min($ssthresh, $counted)}]
    }
    $ns at [expr {[$ns now] + 0.001}] \
        "as_in_linux $tcp $timeouts $ssthresh [$tcp set cwnd_] [$tcp set ack_]"
}

proc start_tcp {kind from to flow} {
    global ns opt start
    set tcp [new [expr {$kind eq "Tahoe" ? "Agent/TCP" : "Agent/TCP/$kind"}]]
    $tcp set packetSize_ 1000
    $tcp set window_ $opt(window)
    $tcp set fid_ $flow
    set sink [new Agent/TCPSink]
    $ns attach-agent $from $tcp
    $ns attach-agent $to $sink
    $ns connect $tcp $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at [$start value] "$ftp start"
    if {$opt(linux) && $kind eq "Newreno"} {
        $ns at $opt(jitter) "as_in_linux $tcp"
    }
    return $tcp
}
set flows [list [start_tcp $opt(first) $n(1) $n(4) 1]]
if {$opt(second) ne ""} { lappend flows [start_tcp $opt(second) $n(5) $n(6) 2] }

proc start_cbr {from to mbps} {
    global ns opt start
    set udp [new Agent/UDP]
    $udp set packetSize_ 1000
    set null [new Agent/Null]
    $ns attach-agent $from $udp
    $ns attach-agent $to $null
    $ns connect $udp $null
    set cbr [new Application/Traffic/CBR]
    $cbr set packetSize_ 1000
    $cbr set rate_ ${mbps}Mb
    $cbr set random_ $opt(random)
    $cbr attach-agent $udp
    $ns at [$start value] "$cbr start"
}
start_cbr $n(2) $n(3) $opt(cbr)
if {$opt(back) > 0} { start_cbr $n(3) $n(2) $opt(back) }

# A line of the trace: event, time, from, to, type, octets, flags, flow, source, destination,
# sequence number, packet. Nodes count from 0.
proc tell {trace} {
    global flows opt
    array set lost {1 0 2 0}
    array set spent {1 0.0 2 0.0}
    flush $trace
    seek $trace 0
    while {[gets $trace line] >= 0} {
        lassign $line event time from to type _ _ flow _ _ _ packet
        if {$type ne "tcp"} continue
        if {$event eq "+" && ($from == 0 || $from == 4)} {
            set sent($packet) $time
            incr count($flow)
            if {![info exists began($flow)]} { set began($flow) $time }
            lappend ages($flow) [expr {$time - $began($flow)}]
        } elseif {$event eq "d"} {
            incr lost($flow)
            lappend lost_ages($flow) [expr {$sent($packet) - $began($flow)}]
        } elseif {$event eq "r" && ($to == 3 || $to == 5)} {
            incr arrived($flow)
            set spent($flow) [expr {$spent($flow) + $time - $sent($packet)}]
        }
    }
    foreach tcp $flows {
        set flow [$tcp set fid_]
        puts [format "Mbit/s %.2f lost %% %.2f delay ms %.1f" \
            [expr {[$tcp set ack_] * 8e-3 / $opt(time)}] \
            [expr {100.0 * $lost($flow) / $count($flow)}] \
            [expr {1000 * $spent($flow) / $arrived($flow)}]]
    }
    foreach flow [array names ages] {
        foreach begin [lrange $opt(spans) 0 end-1] end [lrange $opt(spans) 1 end] {
            puts "$flow: $begin $end [within $ages($flow) $begin $end]\
                [within [expr {$lost($flow) ? $lost_ages($flow) : ""}] $begin $end]"
        }
    }
    exit 0
}
proc within {ages begin end} {
    set count 0
    foreach age $ages { if {$begin <= $age && $age < $end} { incr count } }
    return $count
}
$ns at $opt(time) "tell $pipe"
$ns run
