# SPDX-License-Identifier: Apache-2.0
"""The paths of Multipath TCP."""

from typing import Any

import pytest

from hoplab.guest.probes.subflows import Subflows
from hoplab.model.errors import ScenarioError
from hoplab.model.network.multipath import connections, members, paths
from hoplab.model.network.plan import Plan, plan
from hoplab.model.network.reach import neighbours
from hoplab.model.resolve.file import parse
from hoplab.model.resolve.resolve import resolve

WIRED = [{"name": name, "radio": False} for name in ("one", "two", "server")]
LINKS = [["host", "one"], ["host", "two"], ["one", "server"], ["two", "server"]]


def planned(radio: bool = False, **keys: Any) -> Plan:
    host = {"name": "host", "radio": radio, **keys.pop("host", {})}
    document: dict[str, Any] = {
        "duration_s": 5,
        "routing": {"protocol": "static"},
        "station": [host, *WIRED],
        "link": [{"ends": ends} for ends in LINKS],
        "flow": [{"protocol": "mptcp", "source": "host", "destination": "server"}],
        **keys,
    }
    if radio:
        document["station"].append({"name": "ap", "x_m": 20})
        document["cell"] = [{"access_point": "ap", "clients": ["host"]}]
        document["link"].append({"ends": ["ap", "server"]})
    return plan(resolve(parse(document, "scenario")))


def test_each_link_of_the_source_is_a_path() -> None:
    made = planned()
    first, second = paths(made, "host", "server")
    assert first.stations == ("host", "one", "server")
    assert first.address == made.address["host"]
    assert second.stations == ("host", "two", "server")
    assert second.address == made.ends["host"][1].address
    assert (first.via, second.via) == ("one", "two")


def test_the_radio_is_the_first_path() -> None:
    found = paths(planned(radio=True), "host", "server")
    assert [one.via for one in found] == ["radio", "one", "two"]
    assert found[0].stations == ("host", "ap", "server")


def test_a_link_may_be_left_out() -> None:
    found = paths(planned(radio=True, host={"mptcp": {"without": ["one"]}}), "host", "server")
    assert [one.via for one in found] == ["radio", "two"]


def two_radios(**keys: Any) -> Plan:
    """A host in two cells of one access point, which a wire joins to the server."""
    host = {"name": "host", "x_m": 10, **keys.pop("host", {})}
    cell = {"access_point": "ap", "clients": ["host"]}
    document: dict[str, Any] = {
        "duration_s": 5,
        "radio": {"profile": "80211n", "channel": 36},
        "routing": {"protocol": "static"},
        "station": [host, {"name": "ap"}, WIRED[-1]],
        "cell": [cell, {**cell, "channel": 149}],
        "link": [{"ends": ["ap", "server"]}],
        "flow": [{"protocol": "mptcp", "source": "server", "destination": "host"}],
        **keys,
    }
    return plan(resolve(parse(document, "scenario")))


def test_a_further_radio_is_a_path_with_an_address_of_its_own() -> None:
    made = two_radios()
    first, second = paths(made, "host", "server")
    assert (first.via, second.via) == ("radio", "ap")
    assert first.stations == second.stations == ("host", "ap", "server")
    assert second.address == made.further["host:wlan1"]
    addresses = [*made.address.values(), *made.further.values()]
    addresses += [end.address for ends in made.ends.values() for end in ends]
    assert len(addresses) == len(set(addresses))
    assert [one.via for one in paths(made, "server", "host")] == ["ap"]


def test_stations_of_two_cells_are_neighbours_once() -> None:
    assert neighbours(two_radios().scenario) == {
        "host": ["ap"],
        "ap": ["host", "server"],
        "server": ["ap"],
    }


def test_a_further_radio_may_be_left_out() -> None:
    made = two_radios(host={"mptcp": {"without": ["ap"]}})
    assert [one.via for one in paths(made, "host", "server")] == ["radio"]


def test_a_radio_whose_clients_roam_is_no_path() -> None:
    roaming = {"ssid": "home", "roaming": "bgscan"}
    cells = [
        {"access_point": "ap", "clients": ["host"], **roaming},
        {"access_point": "other", "clients": [], "channel": 149, **roaming},
    ]
    made = planned(radio=True)
    (wlan,) = made.wlans["host"]
    assert members(wlan) == ("ap", "host")
    stations = [{"name": "host"}, {"name": "ap"}, {"name": "other", "x_m": 30}, WIRED[-1]]
    (wlan,) = two_radios(station=stations, cell=cells).wlans["host"]
    assert members(wlan) == ()


def test_a_subflow_is_named_by_the_end_that_has_several_paths() -> None:
    made = planned()
    (conversation,) = made.conversations
    near, far = paths(made, "host", "server"), paths(made, "server", "host")
    subflows = Subflows(conversation, near, far[:1])
    server = made.address["server"]
    assert subflows._via(near[1].address, server) == "two"
    assert subflows._via(near[0].address, server) == "one"
    back = Subflows(conversation, far[:1], near)
    assert back._via(server, near[1].address) == "two"


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"routing": {"protocol": "dsr"}}, 'only routing.protocol = "static" gives'),
        ({"host": {"mptcp": {"backup": ["server"]}}}, "'server' is at no link of host"),
        ({"host": {"mptcp": {"subflows": 9}}}, "subflows"),
    ],
)
def test_what_has_no_paths_is_refused(keys: dict[str, Any], words: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        planned(**keys)
    assert words in str(refused.value)


@pytest.mark.parametrize("key", ["mss", "window", "elfn"])
def test_keys_of_tcp_alone_are_refused(key: str) -> None:
    flow = {"protocol": "mptcp", "source": "host", "destination": "server", key: 500}
    with pytest.raises(ScenarioError):
        planned(flow=[flow])


def program(station: str, **keys: Any) -> dict[str, Any]:
    return {"station": station, "run": "python3 x.py", "mptcp": True, **keys}


def test_programs_have_paths_to_each_other() -> None:
    made = planned(flow=[], program=[program("host"), program("server"), program("host")])
    found = [(source, destination) for _, source, destination in connections(made.scenario)]
    assert found == [("host", "server"), ("server", "host")]


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"program": [program("host")]}, "no program of another station speaks it"),
        (
            {"program": [program("host"), program("server")], "routing": {"protocol": "babeld"}},
            'only routing.protocol = "static" gives',
        ),
    ],
)
def test_programs_without_paths_or_peers_are_refused(keys: dict[str, Any], words: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        planned(flow=[], radio=False, **keys)
    assert words in str(refused.value)
