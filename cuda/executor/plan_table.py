#!/usr/bin/env python3
"""Writes an execution plan as the table that `cuda/executor_one_device.cu` reads: words and numbers apart by blanks.

    plan_table.py PLAN.json >PLAN.table

Names are resolved here: a block's channels are peers and which of the
channels to that peer, its remote buffers are ranks and types. Sizes stay chunks, since one table serves all sizes. `table.cuh` has
the grammar. The status is 3, with the reason, for plans that one device cannot run in one launch.
"""

import json
import sys


class LeftOut(Exception):
    """A plan that needs more than one device has."""


def listed(word, items):
    """A list: what it is called, how long it is, its items."""
    items = list(items)
    return [word, len(items), *(field for item in items for field in item)]


def channels_of(gpu):
    """(peer, which of the channels to it) of every memory channel, by its number."""
    seen, channels = {}, []
    for entry in gpu["channels"]:
        if entry["channel_type"] != "memory":
            raise LeftOut(f"{entry['channel_type']} channels")
        for peer in entry["connected_to"]:
            channels.append((peer, seen.get(peer, 0)))
            seen[peer] = seen.get(peer, 0) + 1
    return channels


def of_kind(entries, kind, key):
    """What a block lists for memory channels, in order."""
    return [number for entry in entries if entry[kind] == "memory" for number in entry[key]]


def operand(buffer, remote):
    """TYPE ID CHUNK COUNT: the place in the block's list for a remote buffer, or -1."""
    if "switch_channel_id" in buffer:
        raise LeftOut("switch channels")
    where = buffer.get("buffer_id", -1)
    kind = buffer["type"] if where < 0 else remote[where][1]
    return (kind, where, buffer["index"], buffer["size"])


def operation(op, remote):
    """An operation, and the operations of a pipeline behind it."""
    group, loop = op.get("tbg_info", {}), op.get("iter_context", {})
    words = ["op", op["name"], op.get("channel_type", "none")]
    words += listed("channels", ((number,) for number in op.get("channel_ids", [])))
    words += listed("sources", (operand(buffer, remote) for buffer in op.get("src_buff", [])))
    words += listed("targets", (operand(buffer, remote) for buffer in op.get("dst_buff", [])))
    words += listed("semaphores", ((number,) for number in op.get("semaphore_ids", [])))
    words += ["share", group.get("tb_id", 0), group.get("tbg_size", 1)]
    words += ["barrier", op.get("barrier_id", 0), op.get("num_threadblocks", 0)]
    words += ["loop", loop.get("unit_size", 0), loop.get("num_chunks", 0), len(op.get("ops", []))]
    lines = [words]
    for inner in op.get("ops", []):
        lines += operation(inner, remote)
    return lines


def block(threadblock, channels, buffers):
    """A thread block: its channels, its remote buffers, its operations."""
    own = of_kind(threadblock["channels"], "channel_type", "channel_ids")
    refs = threadblock.get("remote_buffer_refs", [])
    remote = [buffers[number] for number in of_kind(refs, "access_channel_type", "remote_buffer_ids")]
    operations = [line for op in threadblock["ops"] for line in operation(op, remote)]
    head = ["block", *listed("channels", (channels[number] for number in own)), *listed("buffers", remote)]
    return [head + ["operations", len(operations)], *operations]


def inner_chunk(plan, gpu):
    """Where the smaller of input and output begins in the other, in place."""
    smaller, larger = sorted((gpu["input_chunks"], gpu["output_chunks"]))
    return gpu["id"] * smaller if plan["inplace"] and smaller < larger else 0


def rank(plan, gpu):
    """A rank: its memory, its semaphores, its blocks."""
    channels = channels_of(gpu)
    buffers = [(buffer["rank"], buffer["type"]) for buffer in gpu["remote_buffers"]]
    head = ["rank", gpu["input_chunks"], gpu["output_chunks"], gpu["scratch_chunks"], inner_chunk(plan, gpu)]
    head += listed("semaphores", ((semaphore["init_value"],) for semaphore in gpu.get("semaphores", [])))
    lines = [head + ["blocks", len(gpu["threadblocks"])]]
    for threadblock in gpu["threadblocks"]:
        lines += block(threadblock, channels, buffers)
    return lines


def table(plan):
    """All lines."""
    if plan.get("reuse_resources"):
        raise LeftOut("`reuse_resources`")
    message = "output_chunks" if plan["collective"] == "allgather" else "input_chunks"
    gpus = plan["gpus"]
    yield ["plan", plan["collective"], "ranks", len(gpus), "threads", plan.get("num_threads_per_block", 1024)]
    yield ["message", min((gpu[message] for gpu in gpus if gpu[message] > 0), default=1)]
    yield ["bytes", plan.get("min_message_size", 0), plan.get("max_message_size", 2**64 - 1)]
    yield ["alignment", plan.get("buffer_alignment", 16), "in_place", int(plan["inplace"])]
    yield ["packets", int(plan["protocol"] == "LL"), "double", int(plan.get("use_double_scratch_buffer", False))]
    for gpu in gpus:
        yield from rank(plan, gpu)
    yield ["end"]


def main():
    (path,) = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        plan = json.load(file)
    try:
        for line in list(table(plan)):
            print(*line)
    except LeftOut as why:
        print(f"one device has no {why}", file=sys.stderr)
        sys.exit(3)


if __name__ == "__main__":
    main()
