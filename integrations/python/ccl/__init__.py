"""Checked collective communication programs.

``build`` makes an execution plan from a ``.ccl`` program, ``verify`` checks plans from any tool, and ``register`` registers the
plans of a manifest with MSCCL++, which then asks ``select`` for the plan of each request. ``cclc``, which is part of this
package, does all the work on programs and plans; the environment variable ``CCLC`` names another one.
"""

from ccl._compiler import CclError, Plan, Report, build, cclc, verify
from ccl._registry import load, register, select

__all__ = ["CclError", "Plan", "Report", "build", "cclc", "load", "register", "select", "verify"]
