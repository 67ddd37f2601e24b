#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Record what Mininet-WiFi and its medium say to each other, as JSON at standard output:

    hoplab mininet tests/emulation/recorded/record.py > tests/emulation/recorded/wmediumd.json

For each kind of medium: its command line, the file that it is given, and every request with its
answer, in hexadecimal. A program between the two, under the name that Mininet-WiFi starts, passes
the octets on as they are.
"""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

FOLDER = Path("/run/record")
PROGRAM = "/run/hoplab/bin/wmediumd"
SOCKET = Path("/var/run/wmediumd.sock")
LONGEST = 4096


def places():
    """Everything that a script can tell a medium that computes with places."""
    from mn_wifi.wmediumdConnector import (
        SNRLink,
        WmediumdGRandom,
        interference,
        w_pos,
        w_server,
    )

    net, stations = network(interference, 3, fading_cof=1)
    net.setInitialMediums((("sta1-wlan0", stations[1]), (stations[2],)))
    net.setPropagationModel(model="logDistance", exp=4)
    net.configureNodes()
    join(net, stations)
    net.build()
    stations[0].setPosition("12.5,20,1.5")
    stations[0].setTxPower(10, intf="sta1-wlan0")
    stations[1].setAntennaGain(7, intf="sta2-wlan0")
    stations[1].setAntennaHeight(2, intf="sta2-wlan0")
    stations[2].setMediumId(1, intf=None)
    first, second = (station.wintfs[0].wmIface for station in stations[:2])
    w_server.update_gaussian_random(WmediumdGRandom(first, -1.5))
    w_server.send_add(first.get_mac())
    w_server.send_add("02:00:00:00:77:00")
    w_server.send_del_by_id(2)
    w_server.send_del_by_id(9)
    w_server.send_snr_update(SNRLink(first, second, 12))
    w_server.send_pos_update(w_pos(second, [1e30, 0, 0]))
    net.stop()


def levels():
    """A medium that knows a ratio of signal to noise for each link."""
    from mn_wifi.wmediumdConnector import snr

    net, stations = network(snr, 2)
    net.configureNodes()
    join(net, stations)
    net.build()
    first, second = (station.wintfs[0] for station in stations)
    for ratio in (17, -3):
        first.setSNRWmediumd(second, ratio)
    net.stop()


def chances():
    """A medium that knows a probability of loss for each link."""
    from mn_wifi.wmediumdConnector import ERRPROBLink, error_prob, w_server

    net, stations = network(error_prob, 2)
    net.configureNodes()
    join(net, stations)
    first, second = (station.wintfs[0] for station in stations)
    net.wlinks.append([first, second, 0.25])
    net.build()
    for probability in (0.0, 0.1, 1.0):
        w_server.send_errprob_update(ERRPROBLink(first.wmIface, second.wmIface, probability))
    net.stop()


def network(mode, count, **options):
    from mn_wifi.link import wmediumd
    from mn_wifi.net import Mininet_wifi

    net = Mininet_wifi(link=wmediumd, wmediumd_mode=mode, **options)
    return net, [
        net.addStation(f"sta{i}", position=f"{40.25 * i},20,{i}") for i in range(1, count + 1)
    ]


def join(net, stations):
    from mn_wifi.link import adhoc

    for station in stations:
        name = station.name + "-wlan0"
        net.addLink(station, cls=adhoc, intf=name, ssid="x", mode="g", channel=5)


NETWORKS = {function.__name__: function for function in (places, levels, chances)}


def between(arguments):
    """Start the medium, and stand between it and its peer until that has gone."""
    file = Path(arguments[arguments.index("-c") + 1]).read_text(encoding="utf-8")
    medium = subprocess.Popen([PROGRAM, *arguments])
    while not SOCKET.exists():
        time.sleep(0.01)
    theirs = SOCKET.rename(SOCKET.with_name("passed-on.sock"))
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(SOCKET))
    listener.listen()
    end = socket.socket(socket.AF_UNIX)
    end.connect(str(theirs))
    peer, _ = listener.accept()
    said = []
    while request := peer.recv(LONGEST):
        end.sendall(request)
        answer = end.recv(LONGEST)
        peer.sendall(answer)
        said.append([request.hex(), answer.hex()])
    # Names of temporary files differ, and the table is wherever Mininet-WiFi is.
    command = [word if not word.startswith("/") else Path(word).suffix for word in arguments]
    told = {"command": command, "file": file, "said": said}
    (FOLDER / os.environ["RECORDED"]).write_text(json.dumps(told))
    end.close()
    medium.wait()


def main():
    FOLDER.mkdir()
    program = FOLDER / "wmediumd"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {__file__} --between "$@"\n')
    program.chmod(0o755)
    os.environ["PATH"] = f"{FOLDER}:{os.environ['PATH']}"
    recorded = {}
    for name in NETWORKS:
        environment = {**os.environ, "RECORDED": f"{name}.json"}
        subprocess.run(
            [sys.executable, __file__, name], check=True, env=environment, stdout=sys.stderr
        )
        recorded[name] = json.loads((FOLDER / f"{name}.json").read_text())
    print(json.dumps(recorded, indent=1))


if sys.argv[1:2] == ["--between"]:
    between(sys.argv[2:])
elif sys.argv[1:]:
    NETWORKS[sys.argv[1]]()
else:
    main()
