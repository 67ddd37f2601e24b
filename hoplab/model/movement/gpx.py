# SPDX-License-Identifier: Apache-2.0
"""GPX 1.0 and 1.1, the exchange format of GPS receivers (topografix.com/GPX/1/1):

    <gpx …><trk><name>ann</name><trkseg>
        <trkpt lat="52.5170" lon="13.3889"><ele>34</ele><time>2024-05-01T10:00:00Z</time></trkpt>

Each track is a station. Its segments follow each other, with a straight line between them. `geo`
converts degrees of WGS84 to metres. Time 0 is the time of the earliest point of the file. Heights,
routes and single waypoints are ignored.
"""

from __future__ import annotations

from datetime import UTC, datetime

from hoplab.model.errors import ScenarioError
from hoplab.model.movement.geo import NORTHERNMOST_DEG, Degrees
from hoplab.model.movement.markup import Reader
from hoplab.model.movement.trace import Movement, numbered, on_plane
from hoplab.model.movement.words import SHOWN


def parse(text: str, source: str = "track.gpx") -> Movement:
    """A station for each track of ``text`` that has points, in the file's order.

    Raises `ScenarioError` that names ``source``, line, value and what was expected.
    """
    file = _File(source)
    file.read(text)
    tracks = {name: track for name, track in file.tracks.items() if track}
    if not tracks:
        raise ScenarioError(f"{source}: no station; expected <trk> with <trkpt lat= lon=><time>")
    first = min(track[0][0] for track in tracks.values())
    timed = {
        name: [(round((date - first).total_seconds(), 6), place) for date, place in track]
        for name, track in tracks.items()
    }
    try:
        return numbered(*on_plane(timed))
    except ValueError as error:
        raise ScenarioError(f"{source}: {error}") from None


class _File(Reader):
    def __init__(self, source: str) -> None:
        super().__init__(source, "gpx")
        self.tracks: dict[str, list[tuple[datetime, Degrees]]] = {}
        self.track: list[tuple[datetime, Degrees]] | None = None
        """The track that is being read; ``called`` is its name."""
        self.called = ""
        self.point: Degrees | None = None
        self.date: datetime | None = None
        self.open: list[str] = []

    def begin(self, name: str, values: dict[str, str]) -> None:
        self.open.append(name)
        if name == "trk":
            self.track, self.called = [], ""
        elif name == "trkpt":
            if self.track is None:
                raise ScenarioError(f"{self.where}: <trkpt>; expected it in <trk><trkseg>")
            self.point, self.date = self._place(values), None
        elif self.open[-2:] in (["trk", "name"], ["trkpt", "time"]):
            self.words = []

    def end(self, name: str) -> None:
        if self.words is not None:
            if self.open[-2:] == ["trk", "name"]:
                self.called, self.words = "".join(self.words).strip(), None
            elif self.open[-2:] == ["trkpt", "time"]:
                self.date, self.words = self._date("".join(self.words).strip()), None
        elif name == "trkpt" and self.point is not None:
            self._add(self.point)
        elif name == "trk" and self.track is not None:
            self._keep(self.track)
        self.open.pop()

    def _keep(self, track: list[tuple[datetime, Degrees]]) -> None:
        name = self.called or "track"
        if name in self.tracks:
            name += f" ({len(self.tracks) + 1})"
        self.tracks[name] = track
        self.track = None

    def _add(self, point: Degrees) -> None:
        if self.date is None:
            raise ScenarioError(f"{self.where}: <trkpt> has no <time>; expected one in each")
        if self.track is None:  # a track in a track's point
            raise ScenarioError(f"{self.where}: <trkpt>; expected it in <trk><trkseg>")
        if self.track and self.date < self.track[-1][0]:
            raise ScenarioError(
                f"{self.where}: time {self.date.isoformat()}; expected at least "
                f"{self.track[-1][0].isoformat()}, since times must not decrease"
            )
        self.track.append((self.date, point))

    def _place(self, values: dict[str, str]) -> Degrees:
        place = Degrees(*(self.number("trkpt", values, key) for key in ("lat", "lon")))
        if not (abs(place.latitude) <= NORTHERNMOST_DEG and abs(place.longitude) <= 180):
            raise ScenarioError(
                f"{self.where}: lat {place.latitude:g}, lon {place.longitude:g}; expected a "
                f"latitude to {NORTHERNMOST_DEG:g} and a longitude to 180 degrees, either way"
            )
        return place

    def _date(self, word: str) -> datetime:
        try:
            date = datetime.fromisoformat(word)
            return date.replace(tzinfo=UTC) if date.tzinfo is None else date.astimezone(UTC)
        except (ValueError, OverflowError):
            raise ScenarioError(
                f"{self.where}: time {word[:SHOWN]!r}; expected one such as 2024-05-01T10:00:00Z"
            ) from None
