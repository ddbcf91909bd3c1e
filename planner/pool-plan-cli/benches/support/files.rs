//! The problem files of a benchmark.

use std::error::Error;
use std::path::{Path, PathBuf};

use pool_plan::IntervalProblem;
use pool_replay::csv;

/// Returns the problems of `crates/pool-plan/tests/data` and of the given files and folders, each
/// with its name. Only the CSV files of a folder count. `is_needed` receives a name and returns
/// `true` if the problem is needed.
pub(crate) fn problems(
    paths: &[PathBuf],
    is_needed: impl Fn(&str) -> bool,
) -> Result<Vec<(String, IntervalProblem)>, Box<dyn Error>> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/pool-plan/tests/data");
    let mut files = Vec::new();
    for path in std::iter::once(&own).chain(paths) {
        if path.is_file() {
            files.push(path.clone());
            continue;
        }
        let mut listed = Vec::new();
        for entry in std::fs::read_dir(path)? {
            listed.push(entry?.path());
        }
        listed.retain(|file| file.extension().is_some_and(|extension| extension == "csv"));
        listed.sort();
        files.extend(listed);
    }
    let mut all = Vec::new();
    for file in files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if !is_needed(&name) {
            continue;
        }
        let problem = csv::read(&std::fs::read_to_string(&file)?, csv::CsvOptions::default())?;
        all.push((name, problem));
    }
    Ok(all)
}
