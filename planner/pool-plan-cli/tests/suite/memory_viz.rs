//! PyTorch's own module reads the output of `export --to memory-viz`. It finds no error in the
//! segments, and a few lines of Python on top of it count the same bytes as `replay`.

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

use super::command::{data, scratch};
use super::replay::{replay, run};

/// Loads the module from its file, lets it summarise the segments and follow the trace, and prints
/// two numbers for each device: the bytes that are live at the end, and the peak, computed
/// backwards from the end.
const COUNT: &str = "
import importlib.util, json, pickle, sys
spec = importlib.util.spec_from_file_location('viz', sys.argv[1])
viz = importlib.util.module_from_spec(spec)
spec.loader.exec_module(viz)
snapshot = pickle.load(open(sys.argv[2], 'rb'))
viz.segsum(snapshot), viz.trace(snapshot)
counts = []
for device, trace in enumerate(snapshot['device_traces']):
    blocks = [block for segment in snapshot['segments'] if segment['device'] == device for block in segment['blocks']]
    live = end = peak = sum(block['requested_size'] for block in blocks if block['state'].startswith('active'))
    for entry in reversed(trace):
        live += {'alloc': -1, 'free_completed': 1}.get(entry['action'], 0) * entry['size']
        peak = max(peak, live)
    counts.append([end, peak])
print(json.dumps(counts))
";

fn python(arguments: &[&str]) -> Option<Output> {
    Command::new("python3").args(arguments).output().ok()
}

/// Returns the path of `_memory_viz.py`: the one in the `POOL_MEMORY_VIZ` variable, or the one of
/// the installed PyTorch.
fn module() -> Option<PathBuf> {
    if let Some(file) = std::env::var_os("POOL_MEMORY_VIZ") {
        return Some(file.into());
    }
    let output = python(&["-c", "import torch.cuda._memory_viz as viz; print(viz.__file__)"])?;
    let file = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| PathBuf::from(file.trim()))
}

#[test]
fn pytorch_reads_the_snapshot_and_counts_the_same() {
    let Some(module) = module() else {
        println!("SKIPPED: PyTorch is not installed; set POOL_MEMORY_VIZ to its _memory_viz.py");
        return;
    };
    for name in ["training.pickle", "torch_cpu.pickle", "rmm.csv", "capture.json"] {
        let file = scratch(&format!("{name}.viz"));
        let out = file.to_str().unwrap();
        let exported = run("export", &data(name), &["--to", "memory-viz", "--out", out]);
        assert_eq!(exported.status.code(), Some(0), "{name}");
        let (_, report) = replay(&data(name), &["--allocator", "bump"]);
        let device = &report["devices"][0];
        let output = python(&["-c", COUNT, module.to_str().unwrap(), out]).unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {errors}");
        let counts: Value = serde_json::from_slice(&output.stdout).unwrap();
        let expected = [&device["live_at_end"]["bytes"], &device["peak_live"]];
        assert_eq!([&counts[0][0], &counts[0][1]], expected, "{name}");
        println!(
            "{name}: {} bytes at the end, {} at the peak, as in PyTorch's module",
            expected[0], expected[1]
        );
    }
}
