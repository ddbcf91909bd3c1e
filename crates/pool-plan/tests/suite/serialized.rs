//! Problems as serde has them: they round-trip, and are checked like all others.

use pool_plan::{Buffer, HappensBeforeProblem, IntervalProblem};

#[test]
fn json_is_checked_like_everything_else() {
    let text = r#"{"buffers": [{"id": "a", "lower": 0, "upper": 2, "size": 8}]}"#;
    let problem: IntervalProblem = serde_json::from_str(text).unwrap();
    let again = serde_json::to_string(&problem).unwrap();
    assert_eq!(problem, serde_json::from_str(&again).unwrap());
    let inverted = text.replace("2,", "-2,");
    let error = serde_json::from_str::<IntervalProblem>(&inverted).unwrap_err();
    assert!(error.to_string().contains("[0, -2)"), "{error}");
    let graph = r#"{"operations": 2, "edges": [{"from": 0, "to": 1, "kind": "programmatic"}],
        "buffers": [{"id": "a", "size": 8, "allocated_by": 0, "freed_by": [1], "role": "live_in"}]}"#;
    let problem: HappensBeforeProblem = serde_json::from_str(graph).unwrap();
    let again = serde_json::to_string(&problem).unwrap();
    assert_eq!(problem, serde_json::from_str(&again).unwrap());
    let unknown = graph.replace("\"to\": 1", "\"to\": 5");
    assert!(serde_json::from_str::<HappensBeforeProblem>(&unknown).is_err());
}

/// A change comes before any check: an alignment that is no power of two never becomes a problem, dropped offsets do not
/// collide.
#[test]
fn buffers_are_changed_before_they_are_checked() {
    let text = r#"{"buffers": [{"id": "a", "lower": 0, "upper": 2, "size": 8, "offset": 0},
        {"id": "b", "lower": 1, "upper": 3, "size": 8, "offset": 4}]}"#;
    let read = |change: fn(&mut Buffer)| {
        IntervalProblem::deserialize_with(&mut serde_json::Deserializer::from_str(text), change)
    };
    let error = read(|_| ()).unwrap_err().to_string();
    assert!(error.starts_with("fixed offsets collide: "), "{error}");
    let problem = read(|buffer| buffer.offset = None).unwrap();
    assert!(problem.buffers().iter().all(|buffer| buffer.offset.is_none()));
    let error = read(|buffer| buffer.alignment = 3).unwrap_err().to_string();
    assert_eq!(error, "buffer a has alignment 3, which is not a power of two");
}
