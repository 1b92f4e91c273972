"""Asks MSCCL++'s own code, in a process of its own, which plan it takes: a static variable keeps what one process did.

In: the folder with the package that `test_against_mscclpp.py` assembles, `alone` or `registered`, manifests, and on standard input a list
of requests, each with the arguments of `_mscclpp.ask`. Out: the names of the plans, one for each request, as JSON.
"""

import json
import os
import sys

folder, how, *manifests = sys.argv[1:]
sys.path.insert(0, folder)
# Of the checkout, only what chooses is compiled: functions that execute are never called, and have no address.
sys.setdlopenflags(os.RTLD_LAZY)

import mscclpp  # noqa: E402
import mscclpp.ext  # noqa: E402

import ccl  # noqa: E402

for manifest in manifests:
    if how == "registered":
        ccl.register(manifest, 0, only_sums=True)
        continue
    for plan in ccl.load(manifest):
        algorithm = mscclpp.Algorithm(
            id=plan.name,
            execution_plan=mscclpp.ExecutionPlan(str(plan.path), 0),
            tags=dict(plan.tags),
            constraint=mscclpp.Algorithm.Constraint(plan.world_size, plan.ranks_per_node),
        )
        mscclpp.ext.AlgorithmCollectionBuilder().add_algorithm_builder(algorithm)

group = mscclpp._mscclpp.Group()
requests = json.load(sys.stdin)
names = [
    mscclpp._mscclpp.ask(group, *numbers, collective, getattr(mscclpp.DataType, dtype), root)
    for *numbers, collective, dtype, root in requests
]
json.dump(names, sys.stdout)
sys.stdout.flush()
# The module's own objects outlive Python, which nanobind would report.
os._exit(0)
