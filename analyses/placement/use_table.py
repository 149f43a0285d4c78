"""Uses of experts as a table, one source after the other; how a CSV file of them is read.

    joined([csv_uses(Path("use.csv"))]).rows

Two forms of CSV, told apart by their header (further columns are left alone):

    class,step,layer,expert,rows        one line for each expert of a call, as `stepprof run --expert-use` writes them;
                                        layer and expert are empty for a step without calls
    class,layer,expert,uses,calls       counts: calls of the layer, and how many of them used the expert

Facts give the first form: use_facts.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from stepprof.profiler.errors import InputError

BY_CALL = ("class", "step", "layer", "expert")
BY_COUNT = ("class", "layer", "expert", "uses", "calls")
WAY_OUT = f"the header must be {','.join((*BY_CALL, 'rows'))} or {','.join(BY_COUNT)}"


@dataclass(frozen=True)
class UseTable:
    """Columns BY_CALL or BY_COUNT, and where they are from, for sentences."""

    source: str
    rows: pd.DataFrame
    files: int = 1  # of several, steps are numbered anew

    @property
    def counted(self) -> bool:
        """Whether calls are only counted."""
        return "step" not in self.rows


def joined(tables: Sequence[UseTable]) -> UseTable:
    """All of them as one; steps of two files are never the same step."""
    if len(tables) == 1:
        return tables[0]
    for table in tables:
        if table.counted:
            raise InputError(f"{table.source} has counts only: give it alone, or uses by call of every class.")
    parts, first = list[pd.DataFrame](), 0
    for table in tables:
        step, numbers = pd.factorize(table.rows["step"])
        parts.append(table.rows[list(BY_CALL)].assign(step=step + first))
        first += len(numbers)
    return UseTable(" + ".join(table.source for table in tables), pd.concat(parts, ignore_index=True), len(parts))


def csv_uses(path: Path) -> UseTable:
    """A CSV file of either form; InputError where it is none."""
    try:
        table = pd.read_csv(path, dtype={"class": "string"}, skipinitialspace=True)
    except OSError as fault:
        raise InputError(f"{path} cannot be read ({fault.strerror}): give a CSV file of expert uses.") from None
    except (ValueError, UnicodeDecodeError) as fault:
        raise InputError(f"{path} is no CSV of expert uses ({str(fault).splitlines()[0]}): {WAY_OUT}.") from None
    _check(path, table)
    if table.empty:
        raise InputError(f"{path} names no use of an expert: record some with stepprof run --expert-use FILE.")
    table["class"] = table["class"].fillna("").astype(str)
    return UseTable(str(path), table)


def _check(path: Path, table: pd.DataFrame) -> None:
    """Make columns numbers; InputError where they are none."""
    wanted = BY_CALL if "step" in table else BY_COUNT
    if missing := [name for name in wanted if name not in table]:
        raise InputError(f"{path} has no column '{missing[0]}': {WAY_OUT}.")
    for name in wanted[1:]:
        numbers: Any = pd.to_numeric(table[name], errors="coerce")
        may_be_empty = name in ("layer", "expert") and "step" in table
        wrong = numbers.isna() & ~(table[name].isna() & may_be_empty) | (numbers < 0) | (numbers % 1 > 0)
        if wrong.any():
            at = int(np.flatnonzero(wrong)[0])
            raise InputError(f"{path}, line {at + 2}: column '{name}' must be a whole number of 0 or more.")
        table[name] = numbers
    if "uses" in table and (table["uses"] > table["calls"]).any():
        at = int(np.flatnonzero(table["uses"] > table["calls"])[0])
        raise InputError(f"{path}, line {at + 2}: an expert cannot be used in more calls than there were.")
