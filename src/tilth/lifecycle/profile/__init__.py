"""One call that says whether a table can be trusted: missing values and their rules, disguises, outliers, redundant
columns, repeated rows, leaks, shifts, each with a code, a severity, the numbers and the advice.
"""

from tilth.lifecycle.profile.finding import Check, Finding
from tilth.lifecycle.profile.join import JoinReport, join_report
from tilth.lifecycle.profile.missing import imputation_bias
from tilth.lifecycle.profile.registry import CHECKS, codes
from tilth.lifecycle.profile.report import Profile, profile
from tilth.lifecycle.profile.sampling import stratified_sample
from tilth.lifecycle.profile.shift import Shift, compare_tables
from tilth.lifecycle.profile.target import balanced_weights

__all__ = [
    "CHECKS", "Check", "Finding", "JoinReport", "Profile", "Shift", "balanced_weights", "codes", "compare_tables",
    "imputation_bias", "join_report", "profile", "stratified_sample",
]  # fmt: skip
