//! Random captures: valid plans near the exact bound, and call orders that are refused if they are
//! wrong.

use std::time::Duration;

use pool_plan::{Edge, EdgeKind, GraphBuffer, HappensBeforeProblem, Options};

use super::capture::settings;

#[test]
fn random_captures_stay_near_the_bound() {
    // A twentieth of the property cases: a capture has up to 600 buffers.
    let count = (super::cases() as usize / 20).max(16);
    for live_out in [false, true] {
        let mut ratios = Vec::new();
        for setting in settings(count, live_out) {
            let captured = setting.make().unwrap();
            let options = Options {
                tolerance: 1.05,
                rounds: Some(10),
                budget: Duration::from_secs(60),
                ..Options::default()
            };
            let plan = captured.graph.solve(&options).unwrap();
            assert_eq!(captured.graph.validate(&plan.offsets), Ok(plan.certificate.peak));
            ratios.push((plan.certificate.ratio(), setting));
            let quick = Options { rounds: Some(0), ..options };
            let by_call_order = captured.call_order.solve(&quick).unwrap();
            let accepted = captured.graph.validate(&by_call_order.offsets).is_ok();
            assert!(setting.streams == 1 || !accepted, "{setting:?} relies on call order");
        }
        ratios.sort_by(|one, other| one.0.total_cmp(&other.0));
        let median = ratios[ratios.len() / 2].0;
        let high = ratios[(ratios.len() - 1) * 99 / 100].0;
        let (worst, setting) = ratios[ratios.len() - 1];
        println!(
            "{count} captures: ratio {median:.4} in the median, {high:.4} at the 99th percentile, \
             {worst:.4} at worst by {setting:?}"
        );
        assert!(median <= 1.05 && high <= 1.15, "{ratios:?}");
    }
}

#[test]
fn without_time_for_the_exact_bound_there_is_one_that_holds() {
    let none = Options { budget: Duration::ZERO, ..Options::default() };
    let (mut lower, mut equal) = (0, 0);
    for setting in settings(16, false).chain(settings(16, true)) {
        let graph = setting.make().unwrap().graph;
        let (plan, exact) = (graph.solve(&none).unwrap(), graph.lower_bound().bytes);
        assert_eq!(graph.validate(&plan.offsets), Ok(plan.certificate.peak));
        let bound = plan.certificate.bound;
        assert!(bound <= exact && 2 * bound >= exact, "{bound} for {exact}: {setting:?}");
        if bound < exact { lower += 1 } else { equal += 1 }
    }
    assert!(lower > 0, "the exact bound was found without time, {equal} times");
}

#[test]
fn programmatic_edges_order_nothing() {
    let buffers = || vec![GraphBuffer::new("a", 8, 0, [0]), GraphBuffer::new("b", 8, 1, [1])];
    let peak = |kind| {
        let edges = vec![Edge { from: 0, to: 1, kind }];
        let problem = HappensBeforeProblem::new(2, edges, buffers()).unwrap();
        problem.solve(&Options::default()).unwrap().certificate.peak
    };
    assert_eq!((peak(EdgeKind::Full), peak(EdgeKind::Programmatic)), (8, 16));
}
