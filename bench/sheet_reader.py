"""
A process that reads one .xlsx, bare by python-calamine or through the specs, and says what it took: `python -m`.
"""

from __future__ import annotations

import gc
import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

from python_calamine import CalamineWorkbook

from lastro.imports.files import read_file
from lastro.imports.spec_files import specs_of


def bare(path: Path) -> int:
    """Every row as the reader's own iterator gives it, which is its quickest way."""
    with CalamineWorkbook.from_path(path) as workbook:
        return sum(1 for _ in workbook.get_sheet_by_index(0).iter_rows())


def through_specs(path: Path, order: dict[str, Any]) -> int:
    """Every row checked, typed and staged, as a parser does it."""
    # As in lastro.imports.parser.
    gc.disable()
    report = read_file(path.name, path, specs_of(order["specs"]), folder=Path(order["folder"]))
    if report.status != "parsed":
        raise RuntimeError(f"{report.error} {report.sheets}")
    return report.rows


def main() -> None:
    """Do what standard input orders."""
    order = json.load(sys.stdin)
    path = Path(order["path"])
    began, cpu = time.perf_counter(), time.process_time()
    rows = bare(path) if order["way"] == "bare" else through_specs(path, order)
    json.dump(
        {
            "rows": rows,
            "elapsed_s": time.perf_counter() - began,
            "cpu_s": time.process_time() - cpu,
            "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main()
