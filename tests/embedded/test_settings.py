"""The settings fit the machine, and what a caller adds can't break the file or move the server."""

from __future__ import annotations

import pytest

from lastro.embedded import EmbeddedServerError
from lastro.embedded.settings import MIB, available_memory_bytes, check_extra_settings, ledger_settings, render


@pytest.mark.parametrize(
    ("free_mib", "buffers"), [(64, "16MB"), (512, "64MB"), (1024, "128MB"), (2048, "256MB"), (65536, "256MB")]
)
def test_buffers_shrink_with_the_memory(free_mib: int, buffers: str) -> None:
    """An eighth of what is free, between 16 and 256 MB."""
    assert ledger_settings(memory_bytes=free_mib * MIB)["shared_buffers"] == buffers


@pytest.mark.parametrize("free_mib", [1, 65536])
def test_durability_never_depends_on_the_machine(free_mib: int) -> None:
    """However small the machine, a commit is a commit."""
    settings = ledger_settings(memory_bytes=free_mib * MIB)
    assert {settings[name] for name in ("fsync", "synchronous_commit", "full_page_writes")} == {"on"}


def test_memory_is_read_from_the_system() -> None:
    """A plausible figure, not the fallback of a machine without /proc."""
    assert 16 * MIB < available_memory_bytes() != 256 * MIB


def test_values_are_quoted() -> None:
    """Quotes and backslashes arrive in the server as they were given."""
    assert render({"a": "it's a \\ b"}).splitlines()[1] == "a = 'it''s a \\\\ b'"


@pytest.mark.parametrize("settings", [{"a b": "1"}, {"": "1"}, {"work_mem": "1\nfsync = off"}, {"work_mem": "\0"}])
def test_what_would_break_the_file_is_refused(settings: dict[str, str]) -> None:
    """One setting can't smuggle in another."""
    with pytest.raises(EmbeddedServerError, match="configuration file"):
        check_extra_settings(settings)


@pytest.mark.parametrize("name", ["port", "PORT", "listen_addresses", "unix_socket_directories", "data_directory"])
def test_the_servers_own_settings_are_refused(name: str) -> None:
    """What start() finds the server by isn't the caller's to set."""
    with pytest.raises(EmbeddedServerError, match="by itself"):
        check_extra_settings({name: "1"})
