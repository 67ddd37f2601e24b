# SPDX-License-Identifier: Apache-2.0
"""How long the lab sleeps while the kernel takes samples."""

from hoplab.guest.lab.stretch import WARY, Stretch


def test_a_sleep_grows_longer_once_some_have_ended_as_foreseen() -> None:
    stretch = Stretch(10)
    for _ in range(WARY - 1):
        stretch.ended([10])
        assert stretch.samples == 10
    stretch.ended([10])
    assert stretch.samples == 20
    stretch.ended([20])
    assert stretch.samples == 40
    stretch.ended([5])  # the run ended, or a flow began
    assert stretch.samples == 40


def test_one_that_ends_early_is_as_long_as_that_and_no_shorter_than_a_second() -> None:
    stretch = Stretch(10)
    for _ in range(WARY + 2):
        stretch.ended([stretch.samples])
    stretch.ended([25, 15])
    assert stretch.samples == 25
    stretch.ended([25])
    assert stretch.samples == 25
    stretch.ended([1, 1, 23])
    assert stretch.samples == 10
