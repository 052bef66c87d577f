"""When engines may rest: nobody uses them, somebody asked for it, and so many seconds have gone by."""

from __future__ import annotations

import asyncio
import math

from tacid.endpoints.rest import Rest


class Rested:
    """How often they were let rest."""

    def __init__(self) -> None:
        self.times = 0
        self.rest = Rest(self._now)

    def _now(self) -> None:
        self.times += 1


async def test_nothing_rests_unless_somebody_asked() -> None:
    rested = Rested()
    rested.rest.used()
    rested.rest.left_by_one()
    await asyncio.sleep(0.05)
    assert rested.times == 0
    assert rested.rest.left == math.inf


async def test_they_rest_so_long_after_the_last_of_all_has_done() -> None:
    rested = Rested()
    rested.rest.asked(0.1)
    rested.rest.used()
    rested.rest.used()
    rested.rest.left_by_one()
    await asyncio.sleep(0.2)
    assert rested.times == 0, "one is left"
    rested.rest.left_by_one()
    assert 0 < rested.rest.left <= 0.1
    await asyncio.sleep(0.2)
    assert rested.times == 1


async def test_a_new_use_begins_the_count_anew_and_a_rest_forgets_what_was_asked() -> None:
    rested = Rested()
    rested.rest.asked(0.15)
    for _ in range(3):
        rested.rest.used()
        rested.rest.left_by_one()
        await asyncio.sleep(0.08)
    assert rested.times == 0
    await asyncio.sleep(0.2)
    assert rested.times == 1
    rested.rest.used()
    rested.rest.left_by_one()
    await asyncio.sleep(0.2)
    assert rested.times == 1


async def test_at_once_is_at_once_but_not_before_the_last_has_done() -> None:
    rested = Rested()
    rested.rest.used()
    rested.rest.asked(0.0)
    rested.rest.look()
    assert rested.times == 0
    rested.rest.left_by_one()
    assert rested.times == 1


async def test_for_ever_takes_back_what_was_asked_before() -> None:
    rested = Rested()
    rested.rest.asked(0.05)
    rested.rest.used()
    rested.rest.left_by_one()
    rested.rest.asked(math.inf)
    await asyncio.sleep(0.1)
    assert rested.times == 0
