# SPDX-License-Identifier: Apache-2.0
"""A run's samples as it goes, to any number of sinks.

Probes in a run write rows to files of the run's folder (`hoplab.model.records`), and flush them at
each sample. A `Follower` outside reads these files as they grow, so a run is the same with and
without a stream. Its rows go to `Outlet`s, one for each sink, each with a thread and a bounded
buffer. A sink that is slow or down loses only its own rows, which are counted.

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

All methods are called in the sink's own thread, so they may take their time. `begin` is called
once, before any rows. `end` is called once, after the last rows and after the report exists. Rows
of one table and one source come in order of time. Different tables come in no order. Beside the
tables of `docs/tables.md` there are those of `schema.toml` here: `run`, `plan`, `progress` and
`health`.
"""
