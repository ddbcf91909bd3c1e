"""Holds public snapshots of PyTorch's against a naive walk backwards from the blocks at their end.

    python3 data/snapshots.py FOLDER [--pool-plan COMMAND]

`data/snapshots.csv` lists the snapshots: repository, commit, path, SHA-256. They have no licence that lets them lie here.
The script fetches those that are not in FOLDER, by git. For each it walks its trace backwards, compares live bytes at the
peak and at the end, and the bytes held, with those of `pool-plan replay`, and the sizes of its exports with its own.
"""

import argparse
import csv
import hashlib
import json
import pathlib
import pickle
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
FORMS = ["memory-viz", "perfetto", "json", "html"]


def walk(snapshot):
    """Live bytes at the peak and at the end, and held bytes at the peak, or None where the segments are less than is live."""
    blocks = [block for segment in snapshot["segments"] for block in segment["blocks"]]
    active = [block for block in blocks if block["state"].startswith("active")]
    trace = [entry for entries in snapshot["device_traces"] for entry in entries]
    live = end = peak = sum(block["requested_size"] for block in active)
    held = most = sum(segment["total_size"] for segment in snapshot["segments"])
    is_whole = held >= live
    for entry in reversed(trace):
        step = {"alloc": -1, "free_completed": 1}.get(entry["action"], 0)
        grown = {"segment_alloc": -1, "segment_map": -1, "segment_free": 1, "segment_unmap": 1}
        live += step * entry["size"]
        held += grown.get(entry["action"], 0) * entry["size"]
        peak, most = max(peak, live), max(most, held)
        is_whole = is_whole and held >= live
    return peak, end, most if is_whole else None


def fetch(row, folder):
    path = folder / (row["sha256"] + ".pickle")
    if not path.exists():
        clone = folder / row["repository"].replace("/", "+")
        if not clone.exists():
            url = "https://github.com/" + row["repository"]
            subprocess.run(["git", "clone", "--filter=blob:none", "--no-checkout", url, clone], check=True)
        show = ["git", "-C", clone, "show", row["commit"] + ":" + row["path"]]
        path.write_bytes(subprocess.run(show, check=True, capture_output=True).stdout)
    if hashlib.sha256(path.read_bytes()).hexdigest() != row["sha256"]:
        sys.exit(f"{path}: another checksum")
    return path


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--pool-plan", default="pool-plan")
    arguments = parser.parse_args()
    wrong = 0
    print("| snapshot | bytes | peak live | live at the end | held |", *FORMS, "", sep=" | ")
    for row in csv.DictReader((HERE / "snapshots.csv").open()):
        path = fetch(row, arguments.folder)
        expected = walk(pickle.loads(path.read_bytes()))
        replay = [arguments.pool_plan, "replay", "--json", "--allocator", "bump", path]
        report = json.loads(subprocess.run(replay, check=True, capture_output=True).stdout)
        device = report["devices"][0]
        found = device["peak_live"], device["live_at_end"]["bytes"], device.get("held_by_log")
        size, ratios = path.stat().st_size, []
        for form in FORMS:
            export = [arguments.pool_plan, "export", "--to", form, path]
            ratios.append(len(subprocess.run(export, check=True, capture_output=True).stdout) / size)
        is_right = found == expected and max(ratios) <= 4
        wrong += not is_right
        ratios = " | ".join(f"{ratio:.2f}" for ratio in ratios)
        name = row["repository"].split("/")[0] + ", " + row["path"].split("/")[-1]
        print(f"| {name} | {size} | {found[0]} | {found[1]} | {found[2]} | {ratios} |", "" if is_right else f"WRONG: {expected}")
    sys.exit(wrong > 0)


main()
