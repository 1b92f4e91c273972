"""Checked collective communication programs.

``build`` makes an execution plan of a ``.ccl`` program, ``verify`` checks plans that anyone made, and ``register`` registers
the plans of a manifest with MSCCL++. All work is done by ``cclc``, which is included in this package; the environment
variable ``CCLC`` names another one.
"""

from ccl._compiler import CclError, Plan, Report, build, cclc, verify
from ccl._registry import load, register

__all__ = ["CclError", "Plan", "Report", "build", "cclc", "load", "register", "verify"]
