# SPDX-License-Identifier: Apache-2.0
"""Reads trace files with the PyTorch plug-in's own loader and prints what it makes of them.

    plugin_loader.py DIRECTORY

Runs in the Python that has torch-tb-profiler. The files of the directory are one run, as
TensorBoard takes them; they are read in this process, so that every warning is seen. Prints one
JSON object: {"workers": [...], "distributed": {...} or null, "messages": [...]}.
"""

import json
import logging
import pathlib
import sys

from torch_tb_profiler import consts, io, utils
from torch_tb_profiler.profiler.data import DistributedRunProfileData, RunProfileData
from torch_tb_profiler.profiler.event_parser import ProfileRole
from torch_tb_profiler.profiler.loader import RunLoader
from torch_tb_profiler.profiler.run_generator import RunGenerator


class Messages(logging.Handler):
    """Keeps everything from a warning on."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.texts = []

    def emit(self, record):
        self.texts.append(f"{record.levelname}: {record.getMessage()}")


def kernels(profile):
    return len(profile.kernel_table["data"]["rows"]) if profile.kernel_table else 0


def describe(data, profile):
    return {
        "worker": profile.worker,
        "views": [view.display_name for view in profile.views],
        "steps": list(data.steps_names),
        "step_us": [cost.costs[-1] for cost in data.steps_costs],
        "operators": {op.name: op.calls for op in data.op_list_groupby_name},
        "device_us": sum(op.device_duration for op in data.op_list_groupby_name),
        "kernels": kernels(profile),
        "communication_us": data.avg_costs.costs[ProfileRole.Communication],
        "collectives": [
            [node.name, node.step_name, len(node.kernel_ranges)]
            for node in data.comm_node_list or []
        ],
    }


def main(directory):
    messages = Messages()
    utils.get_logger().addHandler(messages)
    workers, parts = [], []
    for path in sorted(pathlib.Path(directory).iterdir()):
        match = consts.WORKER_PATTERN.match(path.name)
        if not match:
            raise SystemExit(f"no name that the plug-in takes: {path.name}")
        data = RunProfileData.parse(match.group(1), 1, str(path), None)
        profile = RunGenerator(match.group(1), 1, data).generate_run_profile()
        workers.append(describe(data, profile))
        parts.append(DistributedRunProfileData(data))
    loader = RunLoader("run", directory, io.Cache())
    whole = loader._process_distributed_profiles(parts, 1)
    print(
        json.dumps(
            {
                "workers": workers,
                "distributed": whole
                and {
                    "views": [view.display_name for view in whole.views],
                    "steps": sorted(whole.steps_to_overlap["data"]),
                },
                "messages": messages.texts,
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1])
