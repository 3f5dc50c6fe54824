"""
Sending a packet to MySQL or MariaDB through a driver's cursor, blocking or awaiting, and following a course with it.
"""

from __future__ import annotations

from typing import Any, TypeVar

from lastro.engine.mysql_courses import Packets
from lastro.engine.mysql_rows import Answer

T = TypeVar("T")


def follow(course: Packets[T], cursor: Any) -> T:
    """
    Send what *course* yields and return its result; what the driver raises goes on in the course.
    """
    try:
        packet = next(course)
        while True:
            try:
                answers = send(cursor, packet)
            except BaseException as error:  # noqa: BLE001 - the course undoes what was written and raises it again
                packet = course.throw(error)
            else:
                packet = course.send(answers)
    except StopIteration as done:
        result: T = done.value
        return result


async def follow_async(course: Packets[T], cursor: Any) -> T:
    """
    Send what *course* yields and return its result; what the driver raises goes on in the course.
    """
    try:
        packet = next(course)
        while True:
            try:
                answers = await send_async(cursor, packet)
            except Exception as error:  # noqa: BLE001 - the course undoes what was written and raises it again
                packet = course.throw(error)
            else:
                packet = course.send(answers)
    except StopIteration as done:
        result: T = done.value
        return result


def send(cursor: Any, packet: str) -> list[Answer]:
    """
    Send *packet*, one statement or several, and return the answers of those that return rows.
    """
    cursor.execute(packet)
    answers = []
    while True:
        if cursor.description is not None:
            answers.append(Answer([column[0] for column in cursor.description], cursor.fetchall()))
        if not cursor.nextset():
            return answers


async def send_async(cursor: Any, packet: str) -> list[Answer]:
    """
    Send *packet*, one statement or several, and return the answers of those that return rows.
    """
    await cursor.execute(packet)
    answers = []
    while True:
        if cursor.description is not None:
            answers.append(Answer([column[0] for column in cursor.description], await cursor.fetchall()))
        if not await cursor.nextset():
            return answers
