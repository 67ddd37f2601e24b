# SPDX-License-Identifier: Apache-2.0
"""Dashboard *Run*: one run, as it goes or afterwards."""

from __future__ import annotations

from grafana_foundation_sdk.builders import nodegraph
from grafana_foundation_sdk.builders.dashboard import (
    AnnotationQuery,
    CustomVariable,
    Dashboard,
    Row,
)
from grafana_foundation_sdk.models.dashboard import (
    DashboardRangeMapOptions,
    RangeMap,
    ValueMap,
    ValueMapping,
    ValueMappingResult,
    VariableOption,
)

from dashboards.panels import (
    HALF,
    SOURCE,
    board,
    choice,
    lines,
    listing,
    number,
    organized,
    query,
    rows,
    setting,
    several,
    states,
    transformer,
)

RUN = 'run="$run"'
FLOW = f'{RUN}, flow=~"$flow"'
NODE = f'{RUN}, node=~"$station"'
STANDBY = 5
"""What is added to the state of a connection that stands by."""
STATES = ("Open", "Disorder", "CWR", "Recovery", "Loss")
COLOURS = ("green", "yellow", "orange", "purple", "red")
EVENTS = ["scenario", "medium", "elfn", "split"]
"""DSR's are many; who wants them chooses them."""
AVERAGED = "1s"
"""Least step of what is a rate: a few segments make no rate."""


def dashboard() -> Dashboard:
    """Everything that one run streams."""
    made = board("hoplab-run", "Hoplab: Run", "One run of Hoplab, while it goes on or afterwards.")
    run = choice("run", "Run", "label_values(hoplab_run_start_s, run)", "The run's folder.")
    flow = choice("flow", "Flow", f"label_values(hoplab_tcp_cwnd{{{RUN}}}, flow)", "TCP flows.")
    station = choice(
        "station", "Station", f"label_values(hoplab_nodes_x_m{{{RUN}}}, node)", "Its radio."
    )
    made.with_variable(run).with_variable(several(flow)).with_variable(several(station))
    made.with_variable(
        CustomVariable("events")
        .label("Events")
        .description("Whose events are drawn.")
        .values("scenario,medium,elfn,split,dsr")
        .multi(True)
        .current(VariableOption(selected=True, text=EVENTS, value=EVENTS))
    )
    made.annotation(
        AnnotationQuery()
        .name("Events")
        .datasource(SOURCE)
        .enable(True)
        .icon_color("orange")
        .expr(f'count_over_time(hoplab_events_t_s{{{RUN}, source=~"$events"}}[1s]) > 0')
    )
    _overview(made)
    _tcp(made)
    _radio(made)
    _network(made)
    return made


def last(metric: str, labels: str) -> str:
    """The last value in the time shown, however long ago."""
    return f"last_over_time({metric}{{{labels}}}[$__range])"


def per_second(metric: str, labels: str) -> str:
    """How fast a count grows."""
    return f"rate({metric}{{{labels}}}[$__rate_interval])"


def _overview(made: Dashboard) -> None:
    made.with_row(Row("The run"))
    made.with_panel(
        number(
            "Scenario time",
            "How far the run has come.",
            "s",
            query(last("hoplab_progress_t_s", RUN), step=AVERAGED),
        )
    )
    made.with_panel(
        number(
            "Duration",
            "Scenario time at which it ends.",
            "s",
            query(last("hoplab_run_duration_s", RUN), step=AVERAGED),
        )
    )
    made.with_panel(
        number("State", "Whether it goes on.", "none", query(last("hoplab_run_state_code", RUN)))
        .mappings([_words({"0": ("running", "blue"), "1": ("complete", "green"), "2": FAILED})])
        .no_value("no such run in this time")
    )
    made.with_panel(
        number(
            "Goodput now",
            "Of all TCP flows together, over the last second.",
            "Kbits",
            query(last("hoplab_progress_goodput_kbps", RUN), step=AVERAGED),
        )
    )
    made.with_panel(
        number("Stations", "Of the network.", "none", query(last("hoplab_run_stations", RUN)))
    )
    made.with_panel(number("Seed", "The scenario's.", "none", query(last("hoplab_run_seed", RUN))))


FAILED = ("failed", "red")


def _tcp(made: Dashboard) -> None:
    made.with_row(Row("TCP"))
    made.with_panel(
        lines(
            "Goodput",
            "Payload that the receiver has taken in, in order.",
            "bps",
            query(
                f"8 * {per_second('hoplab_tcp_delivered_bytes', FLOW)}", "{{flow}}", step=AVERAGED
            ),
        )
    )
    made.with_panel(
        lines(
            "Congestion window and threshold",
            "The threshold of slow start is there from the first loss on.",
            "suffix: segments",
            query(f"hoplab_tcp_cwnd{{{FLOW}}}", "{{flow}} cwnd", "A"),
            query(f"hoplab_tcp_ssthresh{{{FLOW}}}", "{{flow}} ssthresh", "B"),
        ).override_by_query("B", [setting("custom.lineStyle", {"fill": "dash", "dash": [6, 4]})])
    )
    made.with_panel(
        lines(
            "Round-trip time and timeout",
            "Smoothed round-trip time, retransmission timeout, and how often that was doubled.",
            "ms",
            query(f"hoplab_tcp_rtt_ms{{{FLOW}}}", "{{flow}} RTT", "A"),
            query(f"hoplab_tcp_rto_ms{{{FLOW}}}", "{{flow}} RTO", "B"),
            query(f"hoplab_tcp_backoff{{{FLOW}}}", "{{flow}} doubled", "C"),
        )
        .override_by_query("B", [setting("custom.lineStyle", {"fill": "dash", "dash": [6, 4]})])
        .override_by_query(
            "C",
            [
                setting("unit", "none"),
                setting("custom.axisPlacement", "right"),
                setting("custom.axisSoftMax", 6),
                setting("custom.drawStyle", "points"),
                setting("decimals", 0),
            ],
        )
    )
    state = f"hoplab_tcp_ca_state_code{{{FLOW}}}"
    standby = f"hoplab_tcp_standby{{{FLOW}}}"
    made.with_panel(
        states(
            "State of congestion control",
            "With ELFN a connection stands by while its route is broken.",
            query(
                f"({state} + on (run, flow) {STANDBY} * {standby}) or on (run, flow) {state}",
                "{{flow}}",
            ),
        ).mappings(_state_words())
    )
    made.with_panel(
        lines(
            "Segments sent again",
            "Since the flow's start; of these, those after a timeout.",
            "suffix: segments",
            query(f"hoplab_tcp_retransmits{{{FLOW}}}", "{{flow}}", "A"),
            query(f"hoplab_tcp_timeouts{{{FLOW}}}", "{{flow}} timeouts", "B"),
        )
    )
    made.with_panel(
        lines(
            "Held for split connections",
            "Split-TCP: segments at a station that nobody else answers for yet.",
            "suffix: segments",
            query(f"hoplab_split_buffered{{{FLOW}}}", "{{flow}} {{node}}"),
        )
    )
    made.with_panel(
        listing(
            "Flows, once they are over",
            "Table `flows`: what each came to.",
            rows(last("hoplab_flows_goodput_kbps", RUN), "A"),
        ).with_transformation(
            organized({"flow": "Flow", "Value": "Goodput, kbit/s", "Value #A": "Goodput, kbit/s"})
        )
    )


def _radio(made: Dashboard) -> None:
    made.with_row(Row("Radios and queues"))
    made.with_panel(
        lines(
            "Waiting in radios",
            "Frames that wait for their turn on the air.",
            "suffix: frames",
            query(f"hoplab_nodes_queue_len{{{NODE}}}", "{{node}}"),
        )
    )
    made.with_panel(
        lines(
            "Waiting at wired links",
            "Packets in the queues of interfaces.",
            "suffix: packets",
            query(f"hoplab_queues_backlog_packets{{{NODE}}}", "{{node}} {{interface}}"),
        )
    )
    made.with_panel(
        lines(
            "Dropped by queues",
            "Frames and packets refused because a queue was full, since time 0.",
            "suffix: packets",
            query(f"hoplab_nodes_queue_drops{{{NODE}}}", "{{node}}", "A"),
            query(f"hoplab_queues_drops{{{NODE}}}", "{{node}} {{interface}}", "B"),
        )
    )
    made.with_panel(
        lines(
            "Tries after the first",
            "Retries of data and RTS in a second, and frames given up.",
            "suffix: /s",
            query(per_second("hoplab_nodes_retries", NODE), "{{node}}", "A", AVERAGED),
            query(per_second("hoplab_nodes_failed", NODE), "{{node}} given up", "B", AVERAGED),
        )
    )
    busy, then = (
        f"hoplab_nodes_busy_fraction{{{NODE}}}{shift} * hoplab_nodes_t_s{{{NODE}}}{shift}"
        for shift in ("", " offset $__rate_interval")
    )
    passed = f"hoplab_nodes_t_s{{{NODE}}} - hoplab_nodes_t_s{{{NODE}}} offset $__rate_interval"
    made.with_panel(
        lines(
            "Busy air",
            "Share of the time in which a radio sent or sensed the channel busy.",
            "percentunit",
            query(f"(({busy}) - ({then})) / ({passed})", "{{node}}", step=AVERAGED),
        ).max(1)
    )
    made.with_panel(
        lines(
            "Energy",
            "That a radio has used since time 0.",
            "joule",
            query(f"hoplab_nodes_energy_j{{{NODE}}}", "{{node}}"),
        )
    )


def _network(made: Dashboard) -> None:
    made.with_row(Row("Network"))
    made.with_panel(_map())
    made.with_panel(
        listing(
            "Frames by link",
            "The twenty links with most frames since time 0, and how many were not received.",
            rows(f"topk(20, {last('hoplab_link_samples_frames', RUN)})", "A"),
            rows(
                f"{last('hoplab_link_samples_frames', RUN)} - "
                f"{last('hoplab_link_samples_delivered', RUN)}",
                "B",
            ),
        )
        .height(16)
        .with_transformation(transformer("merge"))
        .with_transformation(
            organized(
                {"src": "From", "dst": "To", "Value #A": "Frames", "Value #B": "Not received"},
                "run",
            )
        )
    )
    made.with_panel(
        lines(
            "Frames by fate",
            "Data frames since time 0, over all links: received, or why not.",
            "suffix: frames",
            *(
                query(
                    f"sum({last(f'hoplab_link_samples_{fate}', RUN)})",
                    fate.replace("_", " "),
                    chr(ord("A") + number),
                    AVERAGED,
                )
                for number, fate in enumerate(
                    ("delivered", "collided", "weak", "capture_lost", "error_model", "deaf", "off")
                )
            ),
        )
    )
    made.with_panel(
        lines(
            "Events",
            "A second, by who tells and what happened.",
            "suffix: /s",
            query(
                f"sum by (source, kind) (count_over_time(hoplab_events_t_s{{{RUN}}}[1s]))",
                "{{source}} {{kind}}",
                step=AVERAGED,
            ),
        )
    )


def _map() -> nodegraph.Panel:
    """Stations where they are, and links with frames.

    Places become labels (count_values), so that one query has a whole row. From 10.3 on Grafana
    takes them for places; before, it arranges stations by itself.
    """
    x = f'count_values by (node) ("fixedx", {last("hoplab_nodes_x_m", RUN)})'
    # Up is where y grows.
    y = f'count_values by (node) ("fixedy", -1 * {last("hoplab_nodes_y_m", RUN)})'
    nodes = (
        f'label_replace({x} * on (node) group_left (fixedy) {y}, "id", "$1", "node", "(.*)")'
        f" * on (node) group_left () {last('hoplab_nodes_queue_len', RUN)}"
    )
    frames = f"sum by (src, dst) ({last('hoplab_link_samples_delivered', RUN)}) > 0"
    edges = (
        f'label_replace(label_replace(label_join({frames}, "id", "-", "src", "dst"), '
        '"source", "$1", "src", "(.*)"), "target", "$1", "dst", "(.*)")'
    )
    return (
        nodegraph.Panel()
        .title("Map")
        .description(
            "Stations where they are at the end of the time shown, with the frames that wait in "
            "them; links that have delivered frames, with how many."
        )
        .datasource(SOURCE)
        .nodes(nodegraph.NodeOptions().main_stat_unit("suffix: waiting"))
        .edges(nodegraph.EdgeOptions().main_stat_unit("suffix: frames"))
        .with_target(rows(nodes, "nodes"))
        .with_target(rows(edges, "edges"))
        .with_transformation(
            organized(
                {"Value #nodes": "mainstat", "Value #edges": "mainstat", "node": "title"},
                "run",
                "src",
                "dst",
            )
        )
        .with_transformation(
            transformer(
                "convertFieldType",
                fields={},
                conversions=[
                    {"targetField": "fixedx", "destinationType": "number"},
                    {"targetField": "fixedy", "destinationType": "number"},
                ],
            )
        )
        .span(HALF)
        .height(16)
    )


def _words(words: dict[str, tuple[str, str]]) -> ValueMap:
    return ValueMap(
        options={
            value: ValueMappingResult(text=text, color=colour, index=index)
            for index, (value, (text, colour)) in enumerate(words.items())
        }
    )


def _state_words() -> list[ValueMapping]:
    known = {
        str(code): (state, colour)
        for code, (state, colour) in enumerate(zip(STATES, COLOURS, strict=True))
    }
    standing = DashboardRangeMapOptions(
        from_val=STANDBY,
        to=STANDBY + len(STATES) - 1,
        result=ValueMappingResult(text="stand-by", color="blue", index=len(STATES)),
    )
    return [_words(known), RangeMap(options=standing)]
