//! Counts instructions with valgrind's callgrind. The counts are exact, and the same on a busy
//! machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::record::{Count, Name};
use crate::TaskError;

/// Returns the reason why callgrind cannot be used, or `None` if it is installed.
pub(crate) fn missing() -> Option<String> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return Some("instructions are counted only on x86_64 Linux".to_owned());
    }
    let found = Command::new("valgrind").arg("--version").output();
    let found = found.is_ok_and(|output| output.status.success());
    (!found).then(|| "valgrind is not installed".to_owned())
}

/// Runs every case under callgrind. The inner error states why callgrind is not available.
pub(crate) fn count(binary: &Path) -> Result<Result<Vec<Count>, String>, TaskError> {
    if let Some(why) = missing() {
        return Ok(Err(why));
    }
    let folder = std::env::temp_dir().join(format!("pool-callgrind-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let counts = count_in(&folder, binary);
    fs::remove_dir_all(&folder)?;
    counts.map(Ok)
}

fn count_in(folder: &Path, binary: &Path) -> Result<Vec<Count>, TaskError> {
    let file = folder.join("counts");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", &format!("--callgrind-out-file={}", file.display())])
        .arg(binary)
        .arg("watched")
        .output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("callgrind: {}\n{said}", output.status).into());
    }
    let passes: f64 = String::from_utf8(output.stdout)?.trim().parse()?;
    let mut dumps = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        if let Some((order, label, instructions)) = parse(&fs::read_to_string(entry?.path())?) {
            dumps.insert(order, (label, instructions));
        }
    }
    Ok(pair(&dumps.into_values().collect::<Vec<_>>(), passes))
}

/// The label of a dump: how many times the case has run, and its name.
#[derive(Clone, Debug, PartialEq)]
struct Label {
    times: u32,
    name: Name,
}

/// Returns a dump's number, label and count. Returns `None` for the dump that valgrind writes at
/// the end.
fn parse(dump: &str) -> Option<(u32, Label, f64)> {
    let after = |key: &str| dump.lines().find_map(|line| line.strip_prefix(key));
    let order = after("part: ")?.trim().parse().ok()?;
    let label = after("desc: Trigger: Client Request: ")?;
    let mut parts = label.split('|').map(str::trim);
    let times = parts.next()?.parse().ok()?;
    let name = Name {
        workload: parts.next()?.to_owned(),
        variant: parts.next()?.to_owned(),
        column: parts.next()?.to_owned(),
    };
    let instructions = after("summary: ")?.trim().parse().ok()?;
    Some((order, Label { times, name }, instructions))
}

/// Subtracts the two dumps of each case. The difference belongs to one run of passes.
fn pair(dumps: &[(Label, f64)], passes: f64) -> Vec<Count> {
    let once = dumps.iter().filter(|(label, _)| label.times == 1);
    once.filter_map(|(label, instructions)| {
        let twice = Label { times: 2, ..label.clone() };
        let (_, more) = dumps.iter().find(|(other, _)| *other == twice)?;
        Some(Count { name: label.name.clone(), count: (more - instructions) / passes })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dump(part: u32, times: u32, instructions: u32) -> String {
        format!(
            "# callgrind format\npart: {part}\n\n\
             desc: Trigger: Client Request: {times}|small arrays|three|pool\n\n\
             events: Ir\nsummary: {instructions}\n"
        )
    }

    #[test]
    fn two_dumps_give_one_count() {
        let dumps: Vec<_> = [dump(1, 1, 2_600), dump(2, 2, 5_160)]
            .iter()
            .filter_map(|text| parse(text).map(|(_, label, count)| (label, count)))
            .collect();
        let counts = pair(&dumps, 320.0);
        assert_eq!(counts.len(), 1);
        assert_eq!((counts[0].name.column.as_str(), counts[0].count), ("pool", 8.0));
    }

    #[test]
    fn the_last_dump_has_no_label() {
        assert!(parse("part: 3\ndesc: Trigger: Program termination\nsummary: 7\n").is_none());
    }
}
