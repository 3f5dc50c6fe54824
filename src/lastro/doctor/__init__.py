"""
The doctor: readings of a database under load, and findings that name the mechanism that holds the latency.
"""

from lastro.doctor.finding import Finding
from lastro.doctor.findings import find
from lastro.doctor.latencies import Latencies
from lastro.doctor.readings import Reading, Sample
from lastro.doctor.taking import Readings

__all__ = ["Finding", "Latencies", "Reading", "Readings", "Sample", "find"]
