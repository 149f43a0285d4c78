"""The account of a run as a Parquet or CSV file: one row an op of a step (analyses/account.sql says what columns).

Texts of a CSV that a spreadsheet would run as a formula get an apostrophe in front. What tracing did to the steps
is in the metadata of a Parquet file's schema, as JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from stepprof.analyses.account import add_account
from stepprof.analyses.attribution import Attribution
from stepprof.profiler.report.document import as_json, cell, inflation_fields
from stepprof.profiler.report.whole_file import whole_file
from stepprof.profiler.store import Store

OPS = "SELECT * FROM op_account WHERE step IN (SELECT unnest(?)) ORDER BY start_ns, end_ns, op_id"


def write_parquet(path: Path, store: Store, found: Attribution, chosen: Sequence[int]) -> int:
    """Write the ops of the chosen steps; how many rows there are."""
    told = {key: as_json(value) for key, value in inflation_fields(found.inflation).items()}
    table = _ops(store, found, chosen).replace_schema_metadata(told)
    with whole_file(path) as file:
        pyarrow.parquet.write_table(table, file, compression="zstd")
    return table.num_rows


def write_csv(path: Path, store: Store, found: Attribution, chosen: Sequence[int]) -> int:
    """Write the ops of the chosen steps; how many rows there are. Label paths are joined by ' › '."""
    table = _ops(store, found, chosen)
    for i, field in enumerate(table.schema):
        if field.name == "label":
            texts = [cell(" › ".join(path)) for path in table.column(i).to_pylist()]
        elif pa.types.is_string(field.type):
            texts = [None if text is None else cell(text) for text in table.column(i).to_pylist()]
        else:
            continue
        table = table.set_column(i, field.name, pa.array(texts, pa.string()))
    with whole_file(path) as file:
        pyarrow.csv.write_csv(table, file)
    return table.num_rows


def _ops(store: Store, found: Attribution, chosen: Sequence[int]) -> pa.Table:
    add_account(store, found)
    return store.con.sql(OPS, params=[list(chosen)]).to_arrow_table()
