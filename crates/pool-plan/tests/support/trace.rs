//! The public traces under `tests/data`, as problems. Their fields have no quotes, blanks or gaps;
//! `pool-replay` reads all other forms of such files.

use std::path::Path;

use pool_plan::{Buffer, IntervalProblem};

/// Returns the problem of a file, without its offsets.
pub(crate) fn trace(name: &str) -> IntervalProblem {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    assert!(lines.next().unwrap().starts_with("id,lower,upper,size"), "{name}");
    IntervalProblem::new(lines.map(buffer).collect()).unwrap()
}

fn buffer(line: &str) -> Buffer {
    let fields: Vec<&str> = line.split(',').collect();
    let [id, lower, upper, size, ..] = fields[..] else { panic!("{line}") };
    Buffer::new(id, lower.parse().unwrap(), upper.parse().unwrap(), size.parse().unwrap())
}
