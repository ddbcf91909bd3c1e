//! Public traces: solved as well as their published figures, without a time limit here.

use std::time::Duration;

use pool_plan::Options;

use super::held_out;
use super::trace::trace;

fn options() -> Options {
    Options { budget: Duration::from_secs(300), ..Options::default() }
}

#[test]
fn challenging_instances_fit_their_capacity() {
    for name in ["A", "C", "F", "H", "K"] {
        let problem = trace(&format!("{name}.1048576.csv"));
        let options = Options { capacity: Some(1_048_576), ..options() };
        let plan = problem.solve(&options).unwrap();
        assert!(problem.validate(&plan.offsets).unwrap() <= 1_048_576);
    }
}

#[test]
fn network_traces_are_near_their_bound() {
    for name in ["resnet50", "bert_base", "iopddl_G_1", "iree_mobilebert", "pangu_13B"] {
        let problem = trace(&format!("{name}.csv"));
        let plan = problem.solve(&Options { tolerance: 1.005, ..options() }).unwrap();
        assert_eq!(problem.validate(&plan.offsets), Ok(plan.certificate.peak));
        assert!(plan.certificate.ratio() <= 1.005, "{name}: {}", plan.certificate.ratio());
    }
}

#[test]
fn traps_are_solved_exactly() {
    for (name, optimum) in [("non_existent.csv", 26), ("input.12.csv", 12)] {
        let plan = trace(name).solve(&options()).unwrap();
        assert_eq!(plan.certificate.peak, optimum);
        assert!(plan.certificate.is_optimal());
    }
}

#[test]
fn variants_are_solved_like_the_traces() {
    for (name, seed) in [("C", 31), ("F", 32), ("H", 33), ("K", 34)] {
        let base = trace(&format!("{name}.1048576.csv"));
        let problem = held_out::refitted(&base, false, seed).unwrap();
        let options = Options { capacity: Some(1_048_576), ..options() };
        let plan = problem.solve(&options).unwrap();
        assert!(problem.validate(&plan.offsets).unwrap() <= 1_048_576);
    }
    for small in [held_out::cut_out(200, 35), held_out::pinwheels(200, 35)] {
        let small = small.unwrap();
        let plan = small.solve(&Options { capacity: Some(1_048_576), ..options() }).unwrap();
        assert!(small.validate(&plan.offsets).unwrap() <= 1_048_576);
    }
    for name in ["iopddl_G_1", "resnet50", "bert_base"] {
        let problem = held_out::resized(&trace(&format!("{name}.csv")), 36).unwrap();
        let plan = problem.solve(&Options { tolerance: 1.005, ..options() }).unwrap();
        assert!(plan.certificate.ratio() <= 1.005, "{name}: {}", plan.certificate.ratio());
    }
}

#[test]
fn many_synthetic_buffers() {
    let problem = super::synthetic::network(20_000, 7).unwrap();
    let plan = problem.solve(&Options { tolerance: 1.02, ..options() }).unwrap();
    assert_eq!(problem.validate(&plan.offsets), Ok(plan.certificate.peak));
    assert!(plan.certificate.ratio() <= 1.02);
}
