"""Spins that nothing in the graph lets go: what a proposal about the sidecar is told."""

import numpy as np

from stepprof.analyses.vocabulary import ROLES
from stepprof.analyses.whatif.held_spins import held_spins
from tests.step_graphs import hand

COPY = ROLES.index("sidecar_copy")


def graph(released: bool):
    """publish 0-10, spin let go at 40 (by the other card's op where `released`), add; all but `there` on card 0."""
    edges = [("publish", "spin", 29), ("spin", "add", 0), *([("there", "spin", 1)] if released else [])]
    return hand(
        {"publish": [10, 10], "there": [38, 38], "spin": [1, 1], "add": [5, 5]},
        edges,
        device=[0, 1, 0, 0],
        role=[COPY, -1, -1, -1],
        wait=[False, False, True, False],
    )


def test_a_spin_that_another_process_lets_go_is_told():
    """From 10, when publish has ended, to 39, when the spin of 1 ns begins: 29 ns."""
    publish = np.array([True, False, False, False])
    said = held_spins(graph(released=False), publish)
    assert said.startswith("1 spin-waits keep the moment at which they were let go (0.000 ms a step before it)")
    assert 'name role "wait" as well' in said


def test_nothing_is_told_of_other_edits_and_of_spins_that_can_be_let_go():
    publish, spin_too = np.array([True, False, False, False]), np.array([True, False, True, False])
    assert held_spins(graph(released=True), publish) == ""
    assert held_spins(graph(released=False), spin_too) == ""
    assert held_spins(graph(released=False), np.array([False, False, False, True])) == ""
