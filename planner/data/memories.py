"""Compares `pool-plan solve` with an exact solver on random problems of several memories.

    python3 memories.py POOL_PLAN [COUNT]

needs `pip install ortools`. Each problem is solved by CP-SAT with optional intervals in each memory, and by the command;
the two costs must be equal, and the command must say that its plan is optimal. It prints the counts, and fails if two
costs differ.
"""

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from ortools.sat.python import cp_model


def problem(rng):
    """A random problem of up to three memories and nine buffers, in the form of the command's JSON files."""
    memories = []
    for index in range(rng.randint(1, 3)):
        memory = {"name": f"m{index}", "cost": rng.randint(0, 3), "traffic_cost": rng.randint(0, 2)}
        if rng.random() < 0.7:
            memory["capacity"] = rng.randint(10, 40)
        memories.append(memory)
    buffers = []
    for index in range(rng.randint(3, 9)):
        lower = rng.randint(0, 9)
        upper = lower + rng.randint(1, 7)
        names = [memory["name"] for memory in memories if rng.random() < 0.75]
        buffer = {
            "id": f"b{index}",
            "lower": lower,
            "upper": upper,
            "size": rng.randint(1, 13),
            "alignment": rng.choice([1, 1, 2, 4]),
            "traffic": rng.randint(0, 20),
            "memories": names or [memories[0]["name"]],
        }
        if upper - lower > 2 and rng.random() < 0.2:
            buffer["gaps"] = [{"lower": lower + 1, "upper": upper - 1}]
        buffers.append(buffer)
    return {"memories": memories, "buffers": buffers}


def spans(buffer):
    """The spans in which a buffer is live."""
    begin = buffer["lower"]
    for gap in buffer.get("gaps", []):
        yield begin, gap["lower"]
        begin = gap["upper"]
    yield begin, buffer["upper"]


def optimum(problem):
    """The least cost of a plan; none if there is no plan."""
    model = cp_model.CpModel()
    top = sum(buffer["size"] + buffer["alignment"] for buffer in problem["buffers"])
    chosen, cost = {}, []
    for memory in problem["memories"]:
        peak = model.new_int_var(0, min(memory.get("capacity", top), top), "peak")
        cost.append(memory["cost"] * peak)
        times, addresses = [], []
        for buffer in problem["buffers"]:
            if memory["name"] not in buffer["memories"]:
                continue
            here = model.new_bool_var("here")
            chosen.setdefault(buffer["id"], []).append(here)
            cost.append(memory["traffic_cost"] * buffer["traffic"] * here)
            step = model.new_int_var(0, top // buffer["alignment"], "step")
            start = step * buffer["alignment"]
            end = start + buffer["size"]
            model.add(end <= peak).only_enforce_if(here)
            for lower, upper in spans(buffer):
                times.append(model.new_optional_fixed_size_interval_var(lower, upper - lower, here, "time"))
                size = buffer["size"]
                addresses.append(model.new_optional_interval_var(start, size, end, here, "bytes"))
        model.add_no_overlap_2d(times, addresses)
    for choices in chosen.values():
        model.add_exactly_one(choices)
    model.minimize(sum(cost))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    status = solver.solve(model)
    if status == cp_model.INFEASIBLE:
        return None
    assert status == cp_model.OPTIMAL, solver.status_name(status)
    return round(solver.objective_value)


def main():
    """Compares."""
    command, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 200
    planned = refused = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "problem.json")
        for seed in range(count):
            one = problem(random.Random(seed))
            path.write_text(json.dumps(one))
            least = optimum(one)
            output = subprocess.run(
                [command, "solve", str(path), "--json", "--budget", "60s"], capture_output=True, text=True, check=False
            )
            answer = json.loads(output.stdout)
            if least is None:
                assert output.returncode == 1, (seed, answer)
                refused += 1
                continue
            assert output.returncode == 0, (seed, least, answer)
            assert answer["cost"] == least and answer["optimal"], (seed, least, answer)
            planned += 1
    print(f"{planned} plans cost as little as CP-SAT's; both find no plan for {refused} problems")


if __name__ == "__main__":
    main()
