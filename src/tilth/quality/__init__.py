"""One call that says whether a table can be trusted: missing values and their rules, disguises, outliers, redundant
columns, repeated rows, leaks, shifts, each with a code, a severity, the numbers and the advice.
"""

from tilth.quality.finding import Check, Finding
from tilth.quality.join import JoinReport, join_report
from tilth.quality.missing import imputation_bias
from tilth.quality.registry import CHECKS, codes
from tilth.quality.report import Profile, profile
from tilth.quality.sampling import stratified_sample
from tilth.quality.shift import Shift, compare_tables
from tilth.quality.target import balanced_weights

__all__ = [
    "CHECKS", "Check", "Finding", "JoinReport", "Profile", "Shift", "balanced_weights", "codes", "compare_tables",
    "imputation_bias", "join_report", "profile", "stratified_sample",
]  # fmt: skip
