"""
Hooks for what can be counted and timed: the library calls them, an exporter listens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

# A measurement: its name (lastro_…, unit last), its value, and its labels.
Listener: TypeAlias = Callable[[str, float, Mapping[str, str]], None]

_listeners: list[Listener] = []


def listen(listener: Listener) -> Callable[[], None]:
    """
    Call *listener* with every measurement from now on; return the function that ends it.
    """
    _listeners.append(listener)
    return lambda: _listeners.remove(listener)


def listening() -> bool:
    """
    Say whether anybody listens: what is dear to work out needn't be, where nobody does.
    """
    return bool(_listeners)


def measure(name: str, value: float, **labels: str) -> None:
    """
    Tell the listeners one measurement. Costs next to nothing where nobody listens.
    """
    for listener in tuple(_listeners):
        listener(name, value, labels)
