//! The command can read its own output back.

use pool_plan::{Buffer, Edge, GraphBuffer, HappensBeforeProblem, IntervalProblem};
use proptest::test_runner::{Config, TestRunner};
use proptest::{prop_assert, prop_assert_eq};

use super::command::{scratch, solve};
use super::placed::placed;

#[test]
fn the_command_reads_back_what_it_writes() {
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
