# SPDX-License-Identifier: Apache-2.0
"""Every way a command can end badly, with its exit status (see ``docs/commands.md``)."""


class HoplabError(Exception):
    """A failure that the user can act on: one line that names the thing and the remedy."""

    exit_status = 1


class ScenarioError(HoplabError):
    """The scenario file or a ``--set`` override is not valid."""

    exit_status = 2


class MissingTool(HoplabError):
    """A program, kernel feature or privilege that the run needs is missing."""

    exit_status = 3


class DaemonDied(HoplabError):
    """A daemon or traffic generator ended in mid-run."""

    exit_status = 4


class GuestFailed(HoplabError):
    """The guest kernel panicked, hung or ended without a verdict."""

    exit_status = 5


class ResultsError(HoplabError):
    """The results folder cannot be written or read."""

    exit_status = 6


class NotReproduced(HoplabError):
    """``hoplab verify`` ran the scenario again and the digest differs."""

    exit_status = 7


class Damaged(HoplabError):
    """A machine, or a pack of a machine or a run, does not have the bytes that its hashes state."""

    exit_status = 8


class HungUp(HoplabError):
    """SIGHUP ended the lab."""

    exit_status = 129


class Interrupted(HoplabError):
    """SIGINT, Ctrl-C, ended the lab."""

    exit_status = 130


class Terminated(HoplabError):
    """SIGTERM ended the lab."""

    exit_status = 143


OF_THIS_PLACE = (MissingTool, ResultsError, Damaged)
"""Errors of this computer, which lacks or has damaged something. They say nothing about the run,
which others can make."""


def of_status(status: int, message: str) -> HoplabError:
    """Return the error that a process which ended with ``status`` would have raised."""
    for kind in HoplabError.__subclasses__():
        # One without a status of its own is a special case of its base, which is the answer then.
        if vars(kind).get("exit_status") == status:
            return kind(message)
    return HoplabError(message)
