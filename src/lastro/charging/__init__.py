"""
Charging: a worker that debits each running job once a period, beside the application's own table of jobs.
"""

from lastro.charging.charger import AsyncCharger, Charger
from lastro.charging.job import AsyncJobs, Job, Jobs
from lastro.charging.terms import ChargingTerms, OnShort

__all__ = ["AsyncCharger", "AsyncJobs", "Charger", "ChargingTerms", "Job", "Jobs", "OnShort"]
