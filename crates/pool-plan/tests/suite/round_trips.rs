//! What is written is read back: whatever the names of buffers are, and whatever a file held.

use std::collections::BTreeSet;

use pool_plan::csv::{CsvOptions, quoted, read, write};
use pool_plan::{Buffer, Gap, IntervalProblem};
use proptest::prelude::*;

const FIXED: CsvOptions = CsvOptions { fixed: true, alignment: None };

/// Names with all that a file could stumble over.
pub(crate) fn names() -> impl Strategy<Value = String> {
    let letters = prop::sample::select(vec![
        ',', '"', '\n', '\r', ' ', '\t', 'a', 'b', ';', '\'', '\\', '#', '@', '-', '\0', '\u{a0}',
        '\u{feff}', '\u{2028}', 'é', '漢', '🦀',
    ]);
    prop_oneof![
        3 => prop::collection::vec(letters, 0..6).prop_map(String::from_iter),
        1 => any::<String>(),
        1 => Just("offset".to_owned()),
    ]
}

/// Buffers with different names, and an offset for each.
pub(crate) fn placed() -> impl Strategy<Value = (Vec<Buffer>, Vec<u64>)> {
    let row = (names(), -5..5_i64, 1..9_i64, any::<bool>());
    prop::collection::vec(row, 1..6).prop_map(|rows| {
        let mut known = BTreeSet::new();
        let rows = rows.into_iter().filter(|row| known.insert(row.0.clone()));
        let buffer = |(id, lower, length, gap): (String, i64, i64, bool)| {
            let mut buffer = Buffer::new(id, lower, lower + length, 8);
            if gap && length > 2 {
                buffer.gaps = vec![Gap { lower: lower + 1, upper: lower + 2 }];
            }
            buffer
        };
        let buffers: Vec<Buffer> = rows.map(buffer).collect();
        let offsets = (0..buffers.len() as u64).map(|index| index * 8).collect();
        (buffers, offsets)
    })
}

/// A file of these buffers, as somebody else would write it: each field in quotes, or where it needs it.
fn file(buffers: &[Buffer], always: bool, line_end: &str) -> String {
    let mut text = format!("id,lower,upper,size,gaps{line_end}");
    for Buffer { id, lower, upper, size, gaps, .. } in buffers {
        let id =
            if always { format!("\"{}\"", id.replace('"', "\"\"")) } else { quoted(id).into() };
        let gaps =
            gaps.first().map_or_else(String::new, |gap| format!("{}-{}", gap.lower, gap.upper));
        text.push_str(&format!("{id},\"{lower}\", {upper},{size},\"{gaps}\"{line_end}"));
    }
    text
}

proptest! {
    #![proptest_config(super::config())]

    #[test]
    fn any_name_is_read_back(
        (buffers, offsets) in placed(),
        always in any::<bool>(),
        line_end in prop::sample::select(vec!["\n", "\r\n", "\r", "\n\n"]),
        mark in prop::sample::select(vec!["", "\u{feff}"]),
    ) {
        let text = format!("{mark}{}", file(&buffers, always, line_end));
        let problem = IntervalProblem::new(buffers.clone()).unwrap();
        prop_assert_eq!(&read(&text, CsvOptions::default()).unwrap(), &problem);
        let written = write(&text, &offsets).unwrap();
        let mut expected = buffers;
        expected.iter_mut().zip(&offsets).for_each(|(one, &offset)| one.offset = Some(offset));
        let again = read(&written, FIXED).unwrap();
        prop_assert_eq!(again.buffers(), &expected[..]);
        // What is written a second time is the same.
        prop_assert_eq!(&write(&written, &offsets).unwrap(), &written);
    }

    #[test]
    fn any_text_is_a_field(text in any::<String>()) {
        let line = format!("id,lower,upper,size\n{},0,1,1\n", quoted(&text));
        let problem = read(&line, CsvOptions::default()).unwrap();
        prop_assert_eq!(&problem.buffers()[0].id, &text);
    }

    /// Bytes of any kind, with a header or without.
    #[test]
    fn any_bytes_are_read_or_refused(
        header in any::<bool>(),
        bytes in prop::collection::vec(prop_oneof![any::<u8>(), prop::sample::select(b",\"\r\n-1 ".to_vec())], 0..80),
    ) {
        let start = if header { "id,lower,upper,size,gaps\n" } else { "" };
        let text = format!("{start}{}", String::from_utf8_lossy(&bytes));
        if let Ok(problem) = read(&text, CsvOptions::default()) {
            let offsets = vec![0; problem.buffers().len()];
            let written = write(&text, &offsets).unwrap();
            let again = read(&written, CsvOptions::default()).unwrap();
            prop_assert_eq!(again, problem);
        }
    }
}

#[test]
fn positions_count_lines_in_quotes() {
    use pool_plan::PlanError;
    let place = |text: &str| match read(text, CsvOptions::default()) {
        Err(PlanError::Parse { line, column, .. } | PlanError::Line { line, column, .. }) => {
            (line, column)
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(place("id,lower,upper,size\n\"a\nb\",0,x,1\n"), (3, 6));
    assert_eq!(place("id,lower,upper,size\n\"é,\",0,x,1\n"), (2, 8));
    assert_eq!(place("id,lower,upper,size\r\n\r\n\"a\",0,1,1\r\n\"a\",0,1,1\r\n"), (4, 1));
    assert_eq!(place("id,lower,upper,size\n\"a\nb\",0,1,1\nc,5,5,1\n"), (4, 5));
    let commas = format!("id,lower,upper,size\na,0,1,1{}\n", ",".repeat(1_000));
    assert_eq!(place(&commas), (2, 9));
    let offsets = write("id,lower,upper,size\na,0,1,1\n", &[0, 1]).unwrap_err();
    assert_eq!(offsets.to_string(), "line 1, column 1: 2 offsets for 1 lines");
}

#[cfg(feature = "cli")]
#[test]
fn the_command_reads_back_what_it_writes() {
    use super::command::{scratch, solve};
    use pool_plan::{Edge, GraphBuffer, HappensBeforeProblem};
    use proptest::test_runner::{Config, TestRunner};

    let config = Config { cases: 12, failure_persistence: None, ..Config::default() };
    let [from, csv, json] = ["names.json", "names.csv", "named.json"].map(scratch);
    let to = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    TestRunner::new(config)
        .run(&placed(), |(buffers, _)| {
            let problem = IntervalProblem::new(buffers.clone()).unwrap();
            std::fs::write(&from, serde_json::to_string(&problem).unwrap()).unwrap();
            for out in [&csv, &json] {
                let written = solve(&from, &["--rounds", "0", "--out", &to(out), "--json"]);
                prop_assert_eq!(written.status.code(), Some(0));
                let again = solve(out, &["--fixed", "--rounds", "0", "--json"]);
                prop_assert_eq!(again.status.code(), Some(0));
                let plan = |output: &[u8]| -> serde_json::Value {
                    serde_json::from_slice::<serde_json::Value>(output).unwrap()["offsets"].clone()
                };
                prop_assert_eq!(plan(&written.stdout), plan(&again.stdout));
            }
            let buffer = |one: &Buffer| GraphBuffer::new(one.id.clone(), one.size, 0, [1]);
            let buffers = buffers.iter().map(buffer).collect();
            let graph = HappensBeforeProblem::new(2, vec![Edge::full(0, 1)], buffers).unwrap();
            std::fs::write(&from, serde_json::to_string(&graph).unwrap()).unwrap();
            let written = solve(&from, &["--rounds", "0", "--out", &to(&json)]);
            prop_assert_eq!(written.status.code(), Some(0));
            let again = std::fs::read_to_string(&json).unwrap();
            let again: HappensBeforeProblem = serde_json::from_str(&again).unwrap();
            prop_assert!(again.buffers().iter().all(|one| one.offset.is_some()));
            let ids = |problem: &HappensBeforeProblem| -> Vec<String> {
                problem.buffers().iter().map(|one| one.id.clone()).collect()
            };
            prop_assert_eq!(ids(&again), ids(&graph));
            Ok(())
        })
        .unwrap();
}
