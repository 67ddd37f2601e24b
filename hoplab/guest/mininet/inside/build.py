# SPDX-License-Identifier: Apache-2.0
# mypy: ignore-errors
"""Have Mininet-WiFi make a scenario's stations, report where they are, and end them.

A line of JSON at standard input says what to make. A line on standard output says what was made.
The end of the input ends the network. The interpreter that has Mininet-WiFi runs this program.
"""

import json
import os
import sys


def main():
    asked = json.loads(sys.stdin.readline())
    answers = os.dup(1)
    os.dup2(2, 1)  # for what Mininet and its programs print

    from mn_wifi import link, net

    network = net.Mininet_wifi()
    radios, nodes = [], []
    for station in asked["stations"]:
        if station["radio"]:
            x_m, y_m = station["place"]
            node = network.addStation(station["name"], position=f"{x_m},{y_m},0")
            radios.append(node)
        else:
            node = network.addHost(station["name"])
        nodes.append(node)
    network.configureNodes()
    for node in radios:
        network.addLink(
            node,
            cls=link.adhoc,
            intf=f"{node.name}-wlan0",
            ssid=asked["ssid"],
            mode=asked["mode"],
            channel=asked["channel"],
        )
    made = {node.name: {"pid": node.pid} for node in nodes}
    for node in radios:
        made[node.name]["mac"] = node.wintfs[0].getMAC().lower()
    os.write(answers, (json.dumps(made) + "\n").encode())
    sys.stdin.read()
    network.stop()


main()
