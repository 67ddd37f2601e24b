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
    NOTHING,
    SOURCE,
    STREAMED,
    board,
    choice,
    downwards,
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
from dashboards.variables import runs, until

RUN = 'run="$shown"'
FLOW = f'{RUN}, flow=~"$flow"'
NODE = f'{RUN}, node=~"$station"'
STANDBY = 5
"""What is added to the state of a connection that stands by."""
STATES = ("Open", "Disorder", "CWR", "Recovery", "Loss")
COLOURS = ("green", "yellow", "orange", "purple", "red")
EVENTS = ["scenario", "medium", "elfn", "split"]
"""DSR's are many, so a user who wants them chooses them."""
MOST_LINKS = 20
RECENT_S = 5
"""Links that the map has: those that delivered something so long before."""
AVERAGED = "1s"
"""Least step of what is a rate: a few segments make no rate."""


def dashboard() -> Dashboard:
    """Everything that one run streams."""
    made = board("hoplab-run", "Hoplab: Run", "One run of Hoplab, while it goes on or afterwards.")
    runs(made)
    flow = choice("flow", "Flow", f"label_values(hoplab_tcp_cwnd{{{RUN}}}, flow)", "TCP flows.")
    station = choice(
        "station", "Station", f"label_values(hoplab_nodes_x_m{{{RUN}}}, node)", "Its radio."
    )
    made.with_variable(several(flow)).with_variable(several(station))
    made.with_variable(
        CustomVariable("events")
        .label("Events")
        .description("Whose events are drawn.")
        .values("scenario,medium,elfn,split,dsr")
        .multi(True)
        .current(VariableOption(selected=True, text=EVENTS, value=EVENTS))
    )
    until(made)
    happened = f'hoplab_events_t_s{{{RUN}, source=~"$events"}}'
    made.annotation(_annotation("Events", "orange", happened))
    made.annotation(_annotation("Scenario", "red", f"hoplab_plan_at_s{{{RUN}}}"))
    _overview(made)
    _tcp(made)
    _radio(made)
    _network(made)
    return made


def _annotation(name: str, colour: str, times: str) -> AnnotationQuery:
    """The value is the date, in ms, since a query's dates are steps of its own, some seconds long
    where much time is shown. Of equal events in one step the last one counts."""
    start = f"max(last_over_time(hoplab_run_start_s{{{RUN}}}[$__range]))"
    return (
        AnnotationQuery()
        .name(name)
        .datasource(SOURCE)
        .enable(True)
        .hide(True)  # its switch; variable Events chooses
        .icon_color(colour)
        .expr(f"1000 * (last_over_time({times}[$__interval]) + on () group_left () {start})")
    )


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
            "suffix: s",
            query(last("hoplab_run_t_s", RUN), step=AVERAGED),
        )
    )
    made.with_panel(
        number(
            "Duration",
            "Scenario time at which it ends.",
            "suffix: s",
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
            "suffix: kbit/s",
            query(last("hoplab_progress_goodput_kbps", RUN), step=AVERAGED),
        ).no_value(STREAMED)
    )
    made.with_panel(
        number("Stations", "Of the network.", "none", query(last("hoplab_run_stations", RUN)))
    )
    made.with_panel(number("Seed", "The scenario's.", "none", query(last("hoplab_run_seed", RUN))))


FAILED = ("failed", "red")
NO_TCP = "no TCP flow in the time shown"


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
            least=1000,
        ).no_value(NO_TCP)
    )
    made.with_panel(
        lines(
            "Congestion window and threshold",
            "The threshold of slow start is there from the first loss on.",
            "suffix: segments",
            query(f"hoplab_tcp_cwnd{{{FLOW}}}", "{{flow}} cwnd", "A"),
            query(f"hoplab_tcp_ssthresh{{{FLOW}}}", "{{flow}} ssthresh", "B"),
        )
        .override_by_query("B", [setting("custom.lineStyle", {"fill": "dash", "dash": [6, 4]})])
        .no_value(NO_TCP)
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
                setting("custom.axisLabel", "times doubled, dots"),
                # A legend tells of the right axis at such length that values have no place.
                setting("custom.hideFrom", {"legend": True, "tooltip": False, "viz": False}),
                setting("decimals", 0),
            ],
        )
        .no_value(NO_TCP)
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
        )
        .mappings(_state_words())
        .no_value(NO_TCP)
    )
    made.with_panel(
        lines(
            "Segments sent again",
            "Since the flow's start; of these, those after a timeout.",
            "suffix: segments",
            query(f"hoplab_tcp_retransmits{{{FLOW}}}", "{{flow}}", "A"),
            query(f"hoplab_tcp_timeouts{{{FLOW}}}", "{{flow}} timeouts", "B"),
        ).no_value(NO_TCP)
    )
    made.with_panel(
        lines(
            "Held for split connections",
            "Split-TCP: segments at a station that nobody else answers for yet.",
            "suffix: segments",
            query(f"hoplab_split_buffered{{{FLOW}}}", "{{flow}} {{node}}"),
        ).no_value("no flow of this run is split")
    )
    made.with_panel(
        listing(
            "Flows, once they are over",
            "Table `flows`: what each came to.",
            rows(f"sum by (flow) ({last('hoplab_flows_goodput_kbps', RUN)})", "A"),
        )
        .no_value("told when the run is over")
        .with_transformation(
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
    for title, told, unit, name in (
        ("Waiting in Linux's Wi-Fi queues", "Packets", "suffix: packets", "backlog_packets"),
        ("Wait in Linux's Wi-Fi queues", "How long packets wait", "ms", "sojourn_ms"),
    ):
        made.with_panel(
            lines(
                title,
                f"{told}, by the station that they wait for and by access category (FQ-CoDel).",
                unit,
                query(f"hoplab_wifi_queues_{name}{{{NODE}}}", "{{node}} to {{peer}}, {{category}}"),
            ).no_value('this run has no radio.queue = "fq_codel"')
        )
    made.with_panel(
        lines(
            "Waiting at wired links",
            "Packets in the queues of interfaces.",
            "suffix: packets",
            query(f"hoplab_queues_backlog_packets{{{NODE}}}", "{{node}} {{interface}}"),
        ).no_value("this run has no wired link")
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
            least=0.001,
        )
    )


def _network(made: Dashboard) -> None:
    made.with_row(Row("Network"))
    frames, delivered = (
        f"sum by (src, dst) ({last(f'hoplab_link_samples_{name}', RUN)})"
        for name in ("frames", "delivered")
    )
    busiest = f"topk({MOST_LINKS}, {frames})"
    made.with_panel(_map())
    made.with_panel(
        listing(
            "Frames by link",
            "The twenty links with most frames since time 0, and how many were not received.",
            rows(busiest, "A"),
            rows(f"{frames} - {delivered} and on (src, dst) {busiest}", "B"),
        )
        .height(16)
        .sort_by(downwards("Frames"))
        .with_transformation(transformer("merge"))
        .with_transformation(
            organized(
                {"src": "From", "dst": "To", "Value #A": "Frames", "Value #B": "Not received"}
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
    """Stations where they are, and the links of the last seconds.

    The panel reads names of fields, so all that it shows is a label: places and numbers become one
    by count_values. From 10.3 on Grafana takes ``fixedx`` and ``fixedy`` for places; before, it
    arranges stations by itself.
    """
    return (
        nodegraph.Panel()
        .title("Map")
        .description(
            "Stations where they are at the end of the time shown, with the frames that wait in "
            f"them; the twenty links that delivered most frames in the {RECENT_S} s before."
        )
        .datasource(SOURCE)
        .nodes(nodegraph.NodeOptions())
        .no_value(NOTHING)
        .with_target(rows(_stations(), "nodes"))
        .with_target(rows(_links(), "edges"))
        .with_transformation(organized({}, "node", "src", "dst", "Value #nodes", "Value #edges"))
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


def _stations() -> str:
    x = f'count_values by (node) ("fixedx", round({last("hoplab_nodes_x_m", RUN)}, 0.1))'
    # Up is where y grows.
    y = f'count_values by (node) ("fixedy", round(-1 * {last("hoplab_nodes_y_m", RUN)}, 0.1))'
    waiting = _stat("node", last("hoplab_nodes_queue_len", RUN), "waiting")
    joined = f"{x} * on (node) group_left (fixedy) {y}"
    joined = f"{joined} * on (node) group_left (mainstat) {waiting}"
    return _labelled(joined, id="node", title="node")


def _links() -> str:
    delivered = f"last_over_time(hoplab_link_samples_delivered{{{RUN}}}[1d] @ $until"
    now, before = (
        f"sum by (src, dst) ({delivered}{shift}))" for shift in ("", f" offset {RECENT_S}s")
    )
    came = f"topk({MOST_LINKS}, {now} - ({before} or 0 * {now}) > 0)"
    joined = f'label_join({_stat("src, dst", came, "frames")}, "id", "-", "src", "dst")'
    return _labelled(joined, source="src", target="dst")


def _stat(by: str, values: str, what: str) -> str:
    """The value as a label that the panel shows."""
    counted = f'count_values by ({by}) ("mainstat", round({values}))'
    return f'label_replace({counted}, "mainstat", "$1 {what}", "mainstat", "(.*)")'


def _labelled(expr: str, **labels: str) -> str:
    """With copies of labels."""
    for name, other in labels.items():
        expr = f'label_replace({expr}, "{name}", "$1", "{other}", "(.*)")'
    return expr


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
