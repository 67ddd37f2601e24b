# SPDX-License-Identifier: Apache-2.0
"""A run's samples as it goes, to any number of sinks.

Whoever measures in a run writes rows to files of the run's folder (`hoplab.model.records`), and
gives them to the disk at each sample. A `Follower` outside reads these files as they grow, so a run
is the same with a stream and without. What it reads goes to `Outlet`s, one a sink, each with a
thread and a bounded buffer of its own: a sink that is slow or down loses its own rows, which are
counted.

To write a sink, derive from `hoplab.host.stream.sink.Sink`::

    class Printer(Sink):
        name = "printer"

        def begin(self, course: Course) -> None:
            print(course.run, course.scenario.title)

        def take(self, batches: Sequence[Batch]) -> None:
            for table, rows in batches:
                print(table, rows)  # each row has exactly the columns of tables.TABLES[table]

    with Stream([Printer()]) as stream:
        perform(RunRequest(scenario, machine, file), Observers(stream=stream))
    print(stream.accounts)

All methods are called in the sink's own thread, so they may take their time; `begin` comes once,
before any rows, and `end` once, after the last and after the report is there. Rows of one table and
one source come in order of time; different tables come in no order. Beside the tables of
`docs/tables.md` there are those of `schema.toml` here: `run`, `progress` and `health`.
"""
