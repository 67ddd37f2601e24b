# SPDX-License-Identifier: Apache-2.0
# Constant-bit-rate flows over DSR among stations that move by an ns-2 movement file.
#
#   ns mobile.tcl -stations 30 -moves FILE -time 200 -trace FILE -flows "SOURCE SINK BYTES START ..."
#
# Each flow sends -rate packets/s of BYTES octets of UDP, header included, from START on.
array set opt {flows "" rate 4}
source [file join [file dirname [info script]] radio.tcl]
read_options $argv

make_network $opt(width) $opt(height)
source $opt(moves)
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
