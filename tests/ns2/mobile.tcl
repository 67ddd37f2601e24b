# SPDX-License-Identifier: Apache-2.0
# Constant-bit-rate flows over DSR among stations that move by an ns-2 movement file.
#
#   ns mobile.tcl -stations 30 -moves FILE -time 200 -trace FILE -flows "SOURCE SINK BYTES START ..."
#
# Each flow sends -rate packets/s of BYTES octets of UDP, header included, from START on. With -known 1
# all stations have each other's link-layer addresses before: each asks by ARP for one that does not
# exist, with a power that reaches all, and ns-2's stations learn from requests and never forget.
array set opt {flows "" rate 4 known 0}
source [file join [file dirname [info script]] radio.tcl]
read_options $argv

make_network $opt(width) $opt(height)
source $opt(moves)
if {$opt(known)} {
    for {set i 0} {$i < $opt(stations)} {incr i} {
        set phy [$node_($i) set netif_(0)]
        set watts [$phy set Pt_]
        $phy set Pt_ 1000
        $ns_ at 0.9 "$phy set Pt_ $watts"
        # Past DSR, to no station.
        set past [new Agent/DumbAgent]
        $past target [$node_($i) set ll_(0)]
        set asks [new Agent/UDP]
        $asks target $past
        $asks set dst_addr_ $opt(stations)
        $ns_ at [expr {0.1 + 0.02 * $i}] "$asks send 1"
    }
}
foreach {source sink bytes start} $opt(flows) {
    set udp [new Agent/UDP]
    $udp set packetSize_ $bytes
    set null [new Agent/Null]
    $ns_ attach-agent $node_($source) $udp
    $ns_ attach-agent $node_($sink) $null
    $ns_ connect $udp $null
    set cbr [new Application/Traffic/CBR]
    $cbr set packetSize_ $bytes
    $cbr set interval_ [expr {1.0 / $opt(rate)}]
    $cbr attach-agent $udp
    $ns_ at $start "$cbr start"
}
$ns_ at $opt(time) {
    $ns_ flush-trace
    exit 0
}
$ns_ run
