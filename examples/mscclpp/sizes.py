#!/usr/bin/env python3
"""Counts the lines of MSCCL++'s programs and of their ports: a Markdown table for `docs/migration.md`.

    git clone https://github.com/microsoft/mscclpp
    examples/mscclpp/sizes.py --mscclpp mscclpp
    examples/mscclpp/sizes.py --page docs/migration.md

`--page` compares the table with that of a page; without `--mscclpp`, lines of Python are those that the page says.
A line counts that has more on it than a comment; of Python files, documentation strings do not count. Only the standard
library of Python 3.9 is needed.
"""

import argparse
import io
import os
import re
import sys
import tokenize

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = "python/mscclpp/language/tests/"
SINGLE, MULTI, UNIT = TESTS + "single_node/", TESTS + "multi_node/", TESTS + "unit_tests/"
DEFAULT, EXECUTOR = "python/mscclpp/default_algos/", "test/executor-tests/algos/"

# Each port's file, and where and what its originals are.
PORTS = {
    "default_algos_allgather_multi_nodes": (DEFAULT, "allgather_multi_nodes"),
    "default_algos_allreduce_multi_nodes": (DEFAULT, "allreduce_multi_nodes"),
    "default_algos_reducescatter_multi_nodes": (DEFAULT, "reducescatter_multi_nodes"),
    "executor-tests_reduce": (EXECUTOR, "reduce"),
    "executor-tests_reduce_nvls": (EXECUTOR, "reduce_nvls reduce_nvls_pipeline"),
    "executor-tests_reduce_pack": (EXECUTOR, "reduce_pack reduce_pack_tbg"),
    "executor-tests_reduce_tbg": (EXECUTOR, "reduce_tbg"),
    "executor-tests_transfer_pack": (EXECUTOR, "transfer_pack transfer_pack_tbg"),
    "multi_node_allgather": (MULTI, "allgather"),
    "multi_node_allgather_pkt": (MULTI, "allgather_pkt"),
    "multi_node_allgather_tbg": (MULTI, "allgather_tbg"),
    "multi_node_reducescatter": (MULTI, "reducescatter"),
    "multi_node_reducescatter_pkt": (MULTI, "reducescatter_pkt"),
    "multi_node_send_recv": (MULTI, "send_recv"),
    "single_node_allgather": (SINGLE, "allgather"),
    "single_node_allgather_nvls_zero_copy": (SINGLE, "allgather_nvls_zero_copy"),
    "single_node_allgather_nvls_zero_copy_pkt": (SINGLE, "allgather_nvls_zero_copy_pkt"),
    "single_node_allgather_pkt": (SINGLE, "allgather_pkt"),
    "single_node_allgather_pkt_rppkt": (SINGLE, "allgather_pkt_rppkt"),
    "single_node_allgather_ring": (SINGLE, "allgather_ring"),
    "single_node_allgather_tbg": (SINGLE, "allgather_tbg"),
    "single_node_allreduce": (SINGLE, "allreduce"),
    "single_node_allreduce_naivy": (SINGLE, "allreduce_naivy"),
    "single_node_allreduce_nvls_zero_copy": (SINGLE, "allreduce_nvls_zero_copy"),
    "single_node_allreduce_pipeline": (SINGLE, "allreduce_pipeline"),
    "single_node_allreduce_pkt": (SINGLE, "allreduce_pkt"),
    "single_node_alltoall": (
        SINGLE + "alltoall/",
        "alltoall alltoall_pipeline alltoall_ring alltoall_ring_oop alltoall_ring_peers",
    ),
    "single_node_alltoall_pkt": (SINGLE + "alltoall/", "alltoall_pkt"),
    "unit_tests/blocks": (UNIT, "barrier_test semaphore switch_broadcast_test switch_reduce_test"),
    "unit_tests/packets": (
        UNIT,
        "copy_packet_test unpack_packet_test put_packet_test read_put_packet_test reduce_packet/reduce_packets_test"
        " reduce_packet/reduce_packets_fuse_test reduce_copy_packet_test reduce_send_packet_test"
        " reduce_copy_send_packet_test",
    ),
    "unit_tests/reductions": (
        UNIT,
        "reduce/reduce_test reduce/reduce_fuse_test reduce_send_test read_reduce/read_reduce_test"
        " read_reduce/read_reduce_fuse_test read_reduce_send_test tbg/tbg_reduce_test tbg/tbg_reduce_fuse_test"
        " tbg/tbg_reduce_send_test",
    ),
    "unit_tests/signals": (
        UNIT + "signal_wait/",
        "signal_wait_test signal_wait_fuse_test relaxed_signal_wait_test relaxed_signal_wait_fuse_test",
    ),
    "unit_tests/transfers": (
        UNIT,
        "copy_test pipeline_test tbg/tbg_copy_test put/put_test put/put_fuse_test put/put_with_signal_test"
        " put/put_with_signal_fuse_test put/put_with_signal_and_flush_test get/get_test get/get_fuse_test"
        " flush/flush_test flush/flush_fuse_test",
    ),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mscclpp", metavar="PATH", help="a checkout of MSCCL++'s sources")
    parser.add_argument("--page", metavar="FILE", help="a page that must have the table")
    options = parser.parse_args()
    if not options.mscclpp and not options.page:
        parser.error("`--mscclpp` or `--page` says where the lines of Python are")
    page = open(options.page, encoding="utf-8").read() if options.page else ""
    table = ["| port | programs | lines, Python | lines, ccl |", "| --- | ---: | ---: | ---: |"]
    sums = [0, 0, 0]
    for port, (folder, names) in PORTS.items():
        names = names.split()
        if options.mscclpp:
            theirs = sum(python_lines(os.path.join(options.mscclpp, folder, name + ".py")) for name in names)
        else:
            theirs = lines_in_page(page, port)
        row = [len(names), theirs, ccl_lines(os.path.join(HERE, port + ".ccl"))]
        sums = [a + b for a, b in zip(sums, row)]
        table.append(f"| {port} | {row[0]} | {row[1]} | {row[2]} |")
    table.append(f"| **all** | {sums[0]} | {sums[1]} | {sums[2]} |")
    print("\n".join(table))
    if options.page and "\n".join(table) not in page:
        print(f"{options.page}: has not the table above", file=sys.stderr)
        return 1
    return 0


def lines_in_page(page, port):
    """The lines of Python in a port's row of the page's table."""
    row = re.search(rf"^\| {re.escape(port)} \| \d+ \| (\d+) \|", page, re.MULTILINE)
    if row is None:
        sys.exit(f"no row for {port} in the page; `--mscclpp PATH` counts its originals")
    return int(row[1])


def ccl_lines(path):
    with open(path, encoding="utf-8") as file:
        return sum(1 for line in file if line.strip() and not line.strip().startswith("//"))


def python_lines(path):
    """Lines with a token that is no comment, of statements that are more than a string."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    nothing = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    lines, statement = set(), []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NEWLINE:
            if any(part.type != tokenize.STRING for part in statement):
                lines.update(n for part in statement for n in range(part.start[0], part.end[0] + 1))
            statement = []
        elif token.type not in nothing:
            statement.append(token)
    return len(lines)


if __name__ == "__main__":
    sys.exit(main())
