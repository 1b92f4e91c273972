"""Which plan MSCCL++ uses for a request: what it would choose by itself goes wrong, and what `ccl.select` chooses is right."""

import json
import subprocess
from pathlib import Path

import pytest

import ccl
from stand_in import EVERY_RANK, Algorithm, AlgorithmCollectionBuilder, Communicator, DataType, ExecutionPlan
from test_registry import manifest

LIBRARY = Path(__file__).parents[3] / "stdlib/ccl/algorithms"


def build(name, program, ranks=4, option=None, **define):
    """A plan of the library in `NAME.json`, with its manifest."""
    return ccl.build(LIBRARY / f"{program}.ccl", f"{name}.json", define={"ranks": ranks, **define}, option={"name": name, **(option or {})})


def leave_it_to_mscclpp(*names):
    """Adds plans to MSCCL++'s algorithms, as its own tools do, without a selector."""
    for name in names:
        for plan in ccl.load(f"{name}.manifest.json"):
            AlgorithmCollectionBuilder().add_algorithm_builder(
                Algorithm(
                    id=plan.name,
                    execution_plan=ExecutionPlan(str(plan.path), EVERY_RANK),
                    tags=plan.tags,
                    constraint=Algorithm.Constraint(plan.world_size, plan.ranks_per_node),
                )
            )
    return Communicator(4)


def register(*names, **how):
    ccl.register(manifest(*names), 0, **how)
    return Communicator(4)


def test_an_allreduce_in_place_beside_an_allgather_out_of_place(folder, mscclpp):
    build("gather", "allgather_allpairs", in_place=False)
    build("sum", "allreduce_allpairs", in_place=True)
    alone = leave_it_to_mscclpp("gather", "sum")
    assert alone.ask("allgather", 4096) == "gather: right"
    assert alone.ask("allreduce", 4096) == "sum: wrong: the plan is for the other mode"
    assert alone.ask("allreduce", 4096, in_place=True) == "without a plan"

    AlgorithmCollectionBuilder.reset()
    ranks = register("gather", "sum", only_sums=True)
    assert ranks.ask("allgather", 4096) == "gather: right"
    assert ranks.ask("allgather", 4096, in_place=True) == "without a plan"
    assert ranks.ask("allreduce", 4096) == "without a plan"
    assert ranks.ask("allreduce", 4096, in_place=True) == "sum: right"


def test_both_modes_of_a_collective(folder, mscclpp):
    build("inside", "allgather_allpairs", in_place=True)
    build("apart", "allgather_allpairs", in_place=False)
    ranks = register("inside", "apart")
    assert [ranks.ask("allgather", 4096, in_place) for in_place in (True, False)] == ["inside: right", "apart: right"]


def test_a_reducescatter_in_place(folder, mscclpp):
    build("scatter", "reducescatter_allpairs", in_place=True)
    assert leave_it_to_mscclpp("scatter").ask("reducescatter", 4096, in_place=True) == "hangs: the ranks disagree"

    AlgorithmCollectionBuilder.reset()
    ranks = register("scatter", only_sums=True)
    assert ranks.ask("reducescatter", 4096, in_place=True) == "scatter: right"
    assert ranks.ask("reducescatter", 4096) == "without a plan"


def test_a_reducescatter_of_the_library_is_out_of_place(folder, mscclpp):
    assert not any(build(name, f"reducescatter_{name}").in_place for name in ("allpairs", "packets", "ring"))
    alone = leave_it_to_mscclpp("ring")
    assert alone.ask("reducescatter", 4096) == "ring: right"
    assert alone.ask("reducescatter", 4096, in_place=True) == "hangs: the ranks disagree"

    AlgorithmCollectionBuilder.reset()
    ranks = register("ring", only_sums=True)
    assert ranks.ask("reducescatter", 4096) == "ring: right"
    assert ranks.ask("reducescatter", 4096, in_place=True) == "without a plan"


def test_a_broadcast_has_a_root(folder, mscclpp):
    for root in (1, 2):
        plan = build(f"from_{root}", "broadcast_tree", root=root, option={"tags": {"root": root}})
        assert (plan.root, plan.operator) == (root, None)
    alone = leave_it_to_mscclpp("from_1")
    assert alone.ask("broadcast", 4096, in_place=True, root=0) == "from_1: wrong: another root's data"

    AlgorithmCollectionBuilder.reset()
    ranks = register("from_1", "from_2")
    found = [ranks.ask("broadcast", 4096, in_place=True, root=root) for root in range(4)]
    assert found == ["without a plan", "from_1: right", "from_2: right", "without a plan"]


def test_a_maximum_would_get_a_sum(folder, mscclpp):
    assert build("sum", "allreduce_allpairs").operator == "sum"
    alone = leave_it_to_mscclpp("sum")
    assert alone.ask("allreduce", 4096, in_place=True, op="max") == "sum: wrong: a sum"

    AlgorithmCollectionBuilder.reset()
    with pytest.raises(ccl.CclError, match="sum.manifest.json: sum: it reduces.* a maximum .*`only_sums=True`"):
        ccl.register("sum.manifest.json", 0)
    assert Communicator(4).ask("allreduce", 4096, in_place=True, op="max") == "without a plan"
    ccl.register("sum.manifest.json", 0, only_sums=True)
    assert Communicator(4).ask("allreduce", 4096, in_place=True) == "sum: right"


def test_a_size_off_the_grid(folder, mscclpp):
    # Four chunks for each of four ranks, at 16 bytes.
    assert build("sum", "allreduce_allpairs", instances=4).grid == 256
    alone = leave_it_to_mscclpp("sum")
    assert alone.ask("allreduce", 4096 + 64, in_place=True) == "sum: exception: not aligned with buffer alignment or chunks"

    AlgorithmCollectionBuilder.reset()
    ranks = register("sum", only_sums=True)
    found = [ranks.ask("allreduce", size, in_place=True) for size in (4096, 4096 + 64, 4096 + 256)]
    assert found == ["sum: right", "without a plan", "sum: right"]


@pytest.mark.parametrize("program", ["allgather_allpairs", "reducescatter_allpairs", "allreduce_allpairs", "broadcast_tree"])
def test_the_grid_is_what_the_executor_demands(folder, mscclpp, program):
    """Up to three times the grid, every multiple of 16 bytes: the plan is used where the executor takes it, and nowhere else."""
    collective = program.partition("_")[0]
    plan = build("plan", program, instances=2, in_place=False, option={"tags": {"root": 0}})
    whole = {"allgather": 4, "reducescatter": 4}.get(collective, 1)
    root = 0 if collective == "broadcast" else None
    parts = range(16, 3 * plan.grid // whole + 16, 16)
    alone = leave_it_to_mscclpp("plan")
    taken = [size for size in parts if alone.ask(collective, size, root=root) == "plan: right"]
    AlgorithmCollectionBuilder.reset()
    ranks = register("plan", only_sums=True)
    chosen = [size for size in parts if ranks.ask(collective, size, root=root) == "plan: right"]
    assert len(parts) > 4 and len(taken) == 3
    assert taken == chosen


@pytest.mark.parametrize("dtype, alone", [("uint8", "invalid argument"), ("float8_e4m3fn", "no kernel starts")])
def test_types_that_plans_do_not_run(folder, mscclpp, dtype, alone):
    build("gather", "allgather_allpairs", in_place=False)
    assert leave_it_to_mscclpp("gather").ask("allgather", 4096, dtype=DataType[dtype]) == f"gather: {alone}"

    AlgorithmCollectionBuilder.reset()
    ranks = register("gather")
    assert ranks.ask("allgather", 4096, dtype=DataType[dtype]) == "without a plan"
    assert all(ranks.ask("allgather", 4096, dtype=DataType[name]) == "gather: right" for name in ("bfloat16", "int32", "uint32"))


def test_sizes_choose_among_plans(folder, mscclpp):
    build("low", "allgather_allpairs", option={"message_size": "1KiB..=64KiB"})
    build("high", "allgather_ring", option={"message_size": "128KiB..=1MiB"})
    ranks = register("low", "high")
    found = [ranks.ask("allgather", size // 4, in_place=True) for size in (512, 1 << 10, 1 << 16, 100 << 10, 128 << 10, 1 << 20, 2 << 20)]
    assert found == ["without a plan", *["low: right"] * 2, "without a plan", *["high: right"] * 2, "without a plan"]


def test_other_communicators(folder, mscclpp):
    """A process may have another rank in a second communicator, for which the plan must be loaded anew."""
    build("gather", "allgather_allpairs")
    ccl.register("gather.manifest.json", 3)
    assert Communicator(4).ask("allgather", 4096, in_place=True) == "gather: right"
    assert Communicator(8).ask("allgather", 4096, in_place=True) == "without a plan"
    assert Communicator(4, ranks_per_node=2).ask("allgather", 4096, in_place=True) == "without a plan"


def test_a_process_with_a_selector_of_its_own(folder, mscclpp):
    build("gather", "allgather_allpairs")
    build("sum", "allreduce_allpairs")
    ccl.register("gather.manifest.json", 0)
    asked = []

    def own(algorithms, request):
        asked.append(request.collective)
        return None if request.message_size > 4096 else ccl.select(algorithms, request)

    AlgorithmCollectionBuilder().set_algorithm_selector(own)
    # A second registration leaves it alone, and adds to what it finds.
    ccl.register("sum.manifest.json", 0, only_sums=True)
    ranks = Communicator(4)
    assert [ranks.ask("allreduce", size, in_place=True) for size in (4096, 8192)] == ["sum: right", "without a plan"]
    assert ranks.ask("allgather", 4096, in_place=True) == "gather: right"
    assert asked == ["allreduce"] * 8 + ["allgather"] * 4


def test_a_builder_that_was_reset(folder, mscclpp):
    build("gather", "allgather_allpairs")
    ccl.register("gather.manifest.json", 0)
    AlgorithmCollectionBuilder.reset()
    ccl.register("gather.manifest.json", 0)
    assert Communicator(4).ask("allgather", 4096, in_place=True) == "gather: right"


def test_without_registered_plans(mscclpp):
    assert ccl.select({}, None) is None


def test_manifests_that_one_request_fits(folder, mscclpp):
    build("low", "allgather_allpairs", option={"message_size": "1KiB..=64KiB"})
    build("high", "allgather_ring", option={"message_size": "64KiB.."})
    build("apart", "allgather_ring", in_place=False, option={"message_size": "64KiB.."})
    ccl.register("low.manifest.json", 0)
    clash = "high of high.manifest.json and low of low.manifest.json both serve allgather over 4 ranks for messages of 65536 bytes"
    with pytest.raises(ccl.CclError, match=clash):
        ccl.register("high.manifest.json", 0)
    assert Communicator(4).ask("allgather", 1 << 20, in_place=True) == "without a plan"
    ccl.register("apart.manifest.json", 0)
    assert Communicator(4).ask("allgather", 1 << 20) == "apart: right"


def test_a_registration_that_fails_registers_nothing(folder, mscclpp):
    build("gather", "allgather_allpairs")
    build("sum", "allreduce_allpairs")
    with pytest.raises(ccl.CclError, match="all.json: sum: it reduces"):
        register("gather", "sum")
    assert Communicator(4).ask("allgather", 4096, in_place=True) == "without a plan"


def change(name, key, value):
    """Edits a manifest; None removes a key."""
    path = Path(f"{name}.manifest.json")
    data = json.loads(path.read_text())
    (entry,) = data["plans"]
    entry[key] = value
    data["plans"] = [{key: value for key, value in entry.items() if value is not None}]
    path.write_text(json.dumps(data))


def test_a_broadcast_from_nowhere(folder, mscclpp):
    build("tree", "broadcast_tree")
    change("tree", "root", None)
    with pytest.raises(ccl.CclError, match="tree: the manifest does not say from which root"):
        ccl.register("tree.manifest.json", 0)


def test_a_plan_for_another_operator(folder, mscclpp):
    text = (LIBRARY / "allreduce_allpairs.ccl").read_text()
    (folder / "max.ccl").write_text(text.replace("collective allreduce(ranks, ", "collective allreduce(ranks, op = max, "))
    # As measurements build plans that the executor gets wrong.
    subprocess.run([ccl.cclc(), "build", "max.ccl", "--checks", "proof", "--emit", "plan,manifest", "-o", "max.json"], check=True)
    with pytest.raises(ccl.CclError, match="allreduce_allpairs: MSCCL.*s executor adds, whatever"):
        ccl.register("max.manifest.json", 0, only_sums=True)
