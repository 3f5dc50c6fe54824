"""
One process of clients: it prepares its part, waits for the common start, and drives its share of the arrivals.
"""

from __future__ import annotations

from lastro.rehearsal.member import Line
from lastro.rehearsal.open_loop import Visits, arrivals_of, drive
from lastro.rehearsal.programme import Programme
from lastro.rehearsal.scenario import Scenario
from lastro.rehearsal.stage import Stage


def be_clients(line: Line, stage: Stage, scenario: Scenario, programme: Programme, process: int) -> Visits:
    """
    Drive the arrivals that are the share of this process, and return what came of them.
    """
    at_once = programme.burst if scenario.arrives_at_once else 0
    # Worked out here, all of them and before the start: a generator that thinks while it runs is late.
    arrivals = arrivals_of(programme.times_s(at_once=at_once), process=process, processes=programme.processes)
    scenario.prepare(stage, programme, process, line.tell)
    with scenario.open_clients(stage, programme, programme.clients_of(process)) as clients:
        began = line.wait_for_start()
        return drive(arrivals, clients, began=began, tell=line.tell)
