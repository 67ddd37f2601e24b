# SPDX-License-Identifier: Apache-2.0
"""Hostile movement files: (name, content, words of the refusal, or none: accepted)."""

from __future__ import annotations

import gzip

NODE = b"$node_(0) set X_ 0\n$node_(0) set Y_ 0\n"

Case = tuple[str, bytes, tuple[str, ...] | None]

CASES: list[Case] = [
    ("m.ns2", b"", ("no station",)),
    ("m.ns2", NODE, None),
    ("m.ns2", b"\xef\xbb\xbf" + NODE, None),
    ("m.ns2", NODE.replace(b"\n", b"\r\n"), None),
    ("m.ns2", b"\xff\xfe" + NODE, ("is no text",)),
    ("m.ns2", b"\x00" * 100, ("m.ns2:1",)),
    ("m.ns2", b"$node_(0) set X_ 0\n", ("node 0 has no Y_",)),
    ("m.ns2", NODE + b"exec rm -rf /\n", ("m.ns2:3", "expected")),
    ("m.ns2", NODE + b'$ns_ at 1 "$node_(0) setdest 1 1"\n', ("m.ns2:3",)),
    ("m.ns2", NODE + b'$ns_ at 1 "$node_(1) setdest 1 1 1"\n', ("node 1 has no X_",)),
    ("m.ns2", NODE + b'$ns_ at 1 "$node_(0) setdest 1e308 1 1"\n', ("station n0",)),
    ("m.ns2", NODE + b'$ns_ at 1e308 "$node_(0) setdest 1 1 1"\n', ("station n0",)),
    ("m.ns2", NODE + b'$ns_ at inf "$node_(0) setdest 1 1 1"\n', ("'inf'",)),
    ("m.ns2", NODE + b'$ns_ at 1 "$node_(0) setdest 9 9 1e-320"\n', None),
    ("m.ns2", NODE + b'$ns_ at 1 "$node_(0) setdest 9 9 1e300"\n', None),
    ("m.ns2", NODE + b'$ns_ at 1 "$node_(0) setdest 9 9 0"\n', None),
    ("m.ns2", NODE.replace(b"(0)", b"(99999999)"), ("station n99999999",)),
    ("m.ns2", NODE.replace(b"(0)", b"(" + b"9" * 5000 + b")"), ("node",)),
    ("m.ns2", NODE.replace(b"(0)", b"(-1)"), ("node '-1'",)),
    ("m.ns2", NODE.replace(b"X_ 0", b"X_ 1e400"), ("'1e400'",)),
    ("m.ns2", NODE.replace(b"X_ 0", b"X_ 2e6"), ("station n0",)),
    ("m.ns2", NODE.replace(b"X_ 0", b"X_ 0x10"), ("'0x10'",)),
    ("m.ns2", NODE.replace(b"X_ 0", b"X_ [expr 5]"), ("m.ns2:1",)),
    ("m.ns2", b"".join(NODE.replace(b"(0)", b"(%d)" % i) for i in range(2001)), ("at most 2000",)),
    ("m.tcl", NODE + b'$ns at 1 "$node_(0) setdest 9 9 1"; \n', None),
    ("m.movements", b"", ("no station",)),
    ("m.movements", b"0 1 2\n", None),
    ("m.movements", b"0 1\n", ("groups of three",)),
    ("m.movements", b"0 1 2 -1 1 1\n", ("times must not decrease",)),
    ("m.movements", b"-1 1 2\n", ("time -1",)),
    ("m.movements", b"0 nan 2\n", ("'nan'",)),
    ("m.movements", b"0 1e9 2\n", ("station n0",)),
    ("m.movements", b"1e9 1 2\n", None),
    ("m.movements", b"2e9 1 2\n", ("station n0",)),
    ("m.movements", b"0 1 2 5 1 1 5 9 9\n", None),
    ("m.movements", b"0 1 2\n" * 2000, None),
    ("m.movements", b"0 1 2\n" * 2001, ("at most 2000",)),
    ("m.movements", b"0 1 2 " * 20_000 + b"\n", None),
    ("m.movements", "0 1 2".encode("utf-16"), ("is no text",)),
    ("m.movements.gz", b"0 1 2\n", ("is not gzip data",)),
    ("m.movements.gz", gzip.compress(b"0 1 2\n"), None),
    ("m.movements.gz", gzip.compress(b"0 1 2\n")[:-5], ("is not gzip data",)),
    ("m.movements.gz", gzip.compress(b"0 1 2\n" * 9)[:12] + b"\xff" * 40, ("is not gzip data",)),
    ("m.gz", gzip.compress(b"0 1 2\n"), ("no movement format",)),
    ("m", b"0 1 2\n", ("no movement format",)),
]

FCD = b'<fcd-export><timestep time="0"><vehicle id="a" x="%s" y="0"/></timestep></fcd-export>'
GPX = (
    b'<gpx><trk><trkseg><trkpt lat="%s" lon="0"><time>2024-01-01T00:00:00Z</time></trkpt>'
    b"</trkseg></trk></gpx>"
)
CASES += [
    ("m.xml", FCD % b"1", None),
    ("m.xml", b"\xef\xbb\xbf" + FCD % b"1", None),
    ("m.xml", b'<?xml version="1.0" encoding="UTF-16"?>' + FCD % b"1", None),
    ("m.xml.gz", gzip.compress(FCD % b"1"), None),
    ("m.xml", b"", ("m.xml:1: no element found", "<fcd-export>")),
    ("m.xml", b"<fcd-export/>", ("no station",)),
    ("m.xml", FCD % b"nan", ("m.xml:1: x: 'nan'",)),
    ("m.xml", FCD % b"2e6", ("station n0",)),
    ("m.xml", FCD % (b"9" * 100_000), ("m.xml:1: x: '9999",)),
    ("m.xml", FCD % b"&e;", ("undefined entity",)),
    ("m.xml", b"<!DOCTYPE a>" + FCD % b"1", ("m.xml:1: has a DOCTYPE",)),
    ("m.xml", FCD.replace(b"<vehicle", b"<vehicle " + b"z" * 100_000) % b"1", ("not well-formed",)),
    ("m.xml", b"<" + b"r" * 100_000 + b"/>", ("begins with <rrr",)),
    ("m.xml", b"<fcd-export>" + b"<a>" * 200_000, ("no element found",)),
    ("m.xml", FCD.replace(b'"a"', b'"' + b"n" * 100_000 + b'"') % b"1", None),
    ("m.xml", b"\xff\xfe<\x00", ("is no text",)),
    ("m.xml", b"\x00" * 100, ("m.xml:1",)),
    ("m.gpx", GPX % b"1", None),
    ("m.gpx", GPX % b"90", ("lat 90",)),
    ("m.gpx", GPX % b"1e400", ("'1e400'",)),
    ("m.gpx", (GPX % b"1").replace(b"2024", b"0000"), ("'0000-01",)),
    ("m.gpx", (GPX % b"1").replace(b"00Z", b"00-99:00"), ("00-99:00",)),
    ("m.gpx", (GPX % b"1").replace(b"2024-01-01T00", b"9999-12-31T23-05:00"), ("expected one",)),
    ("m.gpx", (GPX % b"1").replace(b"<time>", b"<time>" + b"9" * 100_000), ("time '9999",)),
    ("m.gpx", b"<gpx><trk><trkseg>" + b"<trkpt lat='0' lon='0'>" * 100_000, ("no element found",)),
    ("m.gpx", FCD % b"1", ("begins with <fcd-export>; expected <gpx>",)),
]
