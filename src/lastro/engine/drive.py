"""
Driving a plan to its result: the same loop twice, blocking and awaiting.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from lastro.plans.plan import Plan, Rows, Step

T = TypeVar("T")


def drive(plan: Plan[T], execute: Callable[[Step], Rows]) -> T:
    """
    Execute every step of *plan* and return the plan's result.
    """
    try:
        step = next(plan)
        while True:
            step = plan.send(execute(step))
    except StopIteration as done:
        result: T = done.value
        return result


async def drive_async(plan: Plan[T], execute: Callable[[Step], Awaitable[Rows]]) -> T:
    """
    Execute every step of *plan* and return the plan's result.
    """
    try:
        step = next(plan)
        while True:
            step = plan.send(await execute(step))
    except StopIteration as done:
        result: T = done.value
        return result
