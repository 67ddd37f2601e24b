# SPDX-License-Identifier: Apache-2.0
"""TCP's settings by station, and settings of the kernel that a scenario names."""

from types import SimpleNamespace
from typing import Any

import pytest

from hoplab.guest.network import wifi
from hoplab.guest.tcp import setup
from hoplab.model.errors import MissingTool, ScenarioError
from hoplab.model.keys.resolved import Resolved, TcpFlow
from hoplab.model.network.plan import plan
from hoplab.model.resolve.file import parse
from hoplab.model.resolve.resolve import resolve

TWO: dict[str, Any] = {
    "duration_s": 5,
    "station": [{"name": "a", "radio": False}, {"name": "b", "radio": False}],
    "link": [{"ends": ["a", "b"]}],
    "flow": [{"source": "a", "destination": "b"}, {"source": "b", "destination": "a"}],
}


def of(common: dict[str, Any] | None = None, **a: Any) -> Resolved:
    first, second = TWO["station"]
    document = {**TWO, "tcp": common or {}, "station": [{**first, **a}, second]}
    return resolve(parse(document, "s.toml"))


def test_a_station_has_its_own_keys_over_those_of_all() -> None:
    scenario = of({"ecn": True, "delayed_ack": False}, tcp={"profile": "classic", "ecn": False})
    own, common = scenario.tcp_of("a"), scenario.tcp_of("b")
    assert (own.profile, own.ecn, own.delayed_ack) == ("classic", False, False)
    assert (common.profile, common.ecn) == ("linux", True)
    assert resolve(scenario) == scenario
    again = Resolved.model_validate(scenario.model_dump(mode="json", exclude_none=True))
    assert again.tcp_of("a") == own


def test_what_follows_from_a_stations_own_settings() -> None:
    scenario = of({}, tcp={"profile": "classic", "elfn": True, "delayed_ack": False})
    variants = [flow.congestion_control for flow in scenario.flow if isinstance(flow, TcpFlow)]
    assert variants == ["newreno", "cubic"]
    planned = plan(scenario)
    from_a, from_b = planned.conversations
    assert from_a.elfn is not None
    assert from_b.elfn is None
    windows = [one.initial_window for one in setup.settings_of(planned, planned.conversations)]
    assert windows == [1, None]


def test_settings_of_a_station_go_over_those_of_all() -> None:
    scenario = of(
        {"sysctl": {"net.ipv4.tcp_fin_timeout": 5, "net.core.somaxconn": 9}},
        tcp={"sysctl": {"net.ipv4.tcp_fin_timeout": 6}},
        sysctl={"net.ipv4.tcp_notsent_lowat": "4096"},
    )
    assert scenario.tcp_of("a").sysctl == {
        "net.ipv4.tcp_fin_timeout": 6,
        "net.core.somaxconn": 9,
        "net.ipv4.tcp_notsent_lowat": "4096",
    }
    assert scenario.tcp_of("b").sysctl["net.ipv4.tcp_fin_timeout"] == 5
    assert resolve(scenario) == scenario


@pytest.mark.parametrize(
    ("sysctl", "words"),
    [
        ({"kernel.panic": 1}, "kernel.panic"),
        ({"net.ipv4/../../kernel.panic": 1}, "net.ipv4"),
        ({"net.ipv4..tcp_sack": 1}, "net.ipv4"),
        ({"net.ipv4.tcp_sack": 1}, "sack of flows says it"),
        ({"net.ipv4.ip_forward": 0}, "every station forwards"),
        ({"net.ipv4.tcp_rmem": "1\n2"}, "tcp_rmem"),
        ({"net.ipv4.tcp_rmem": 1.5}, "tcp_rmem"),
        ({f"net.ipv4.x{i}": 1 for i in range(101)}, "sysctl"),
    ],
)
def test_what_is_no_setting_is_refused_in_one_line(sysctl: dict[str, Any], words: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        of({"sysctl": sysctl})
    assert words in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


def test_what_the_kernel_lacks_or_refuses_is_told() -> None:
    def written(station: str, values: dict[str, str]) -> list[str]:
        if "net.ipv4.tcp_rmem" in values:
            raise OSError(22, "Invalid argument")
        return [name for name in values if name == "net.ipv4.nosuch"]

    kernel: Any = SimpleNamespace(sysctl=written, sysctl_value=lambda station, name: "5")
    assert setup.own_sysctls(kernel, "a", {"net.ipv4.tcp_fin_timeout": 5}) == {
        "net.ipv4.tcp_fin_timeout": "5"
    }
    with pytest.raises(MissingTool, match=r"sysctl net\.ipv4\.nosuch: this kernel"):
        setup.own_sysctls(kernel, "a", {"net.ipv4.nosuch": 5})
    with pytest.raises(ScenarioError, match="refuses 'x' at a: Invalid argument"):
        setup.own_sysctls(kernel, "a", {"net.ipv4.tcp_rmem": "x"})


def test_codels_parameters_of_a_radio(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line each, in us. A kernel that does not take them is named."""
    written: list[tuple[str, str]] = []
    monkeypatch.setattr(wifi, "put", lambda path, text: written.append((path, text)))
    radio: Any = SimpleNamespace(target_ms=5, interval_ms=None, ce_threshold_ms=0.5)
    wifi.set_codel("phy0", radio)
    place = "/sys/kernel/debug/ieee80211/phy0/aqm"
    assert written == [(place, "codel_target_us 5000"), (place, "codel_ce_threshold_us 500")]

    def refuse(path: str, text: str) -> None:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(wifi, "put", refuse)
    with pytest.raises(MissingTool, match=r"radio\.target_ms: this kernel's mac80211 does not"):
        wifi.set_codel("phy0", radio)
