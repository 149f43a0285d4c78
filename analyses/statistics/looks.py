"""How sure an interval must be when data are looked at twice: the levels of O'Brien and Fleming.

For two equal looks at 5 % two-sided the bounds are 2.797 and 1.977 standard errors (O'Brien & Fleming,
Biometrics 35, 1979; Jennison & Turnbull, Group Sequential Methods, table 2.3). With few launches the
same tail probabilities are taken of Student's t (the significance-level approach, ibid. 3.8).
"""

from __future__ import annotations

from statistics import NormalDist

BOUNDS = {1: (1.959964,), 2: (2.796511, 1.977432)}


def level_of_look(look: int, looks: int) -> float:
    """Two-sided level of the interval at look 1 … looks; one or two looks."""
    return 2 * NormalDist().cdf(BOUNDS[looks][look - 1]) - 1
