//! The validator against brute force: it accepts what is valid and nothing else, whatever is
//! shifted or dropped.

use pool_plan::{HappensBeforeProblem, IntervalProblem, Options, Violation};
use proptest::prelude::*;

use super::brute::Small;
use super::generated::{graphs, intervals};

fn quick() -> Options {
    Options { rounds: Some(0), threads: 1, ..Options::default() }
}

proptest! {
    #![proptest_config(super::config())]

    #[test]
    fn shifted_offset_in_time(problem in intervals(), index in 0..8_usize, shift in 1..20_u64) {
        let mut offsets = problem.solve(&quick()).unwrap().offsets;
        let index = index % offsets.len();
        for offset in [offsets[index] + shift, offsets[index].saturating_sub(shift)] {
            let old = std::mem::replace(&mut offsets[index], offset);
            let valid = Small::of_intervals(&problem).accepts(&offsets);
            prop_assert_eq!(problem.validate(&offsets).is_ok(), valid);
            offsets[index] = old;
        }
    }

    #[test]
    fn offset_shifted_onto_another(problem in intervals(), one in 0..8_usize, other in 0..8_usize) {
        let mut offsets = problem.solve(&quick()).unwrap().offsets;
        let (one, other) = (one % offsets.len(), other % offsets.len());
        let small = Small::of_intervals(&problem);
        prop_assume!(small.conflict[one][other] && small.sizes[one] > 0 && small.sizes[other] > 0);
        offsets[one] = offsets[other];
        prop_assert!(problem.validate(&offsets).is_err());
    }

    #[test]
    fn shifted_offset_in_a_graph(problem in graphs(), index in 0..8_usize, shift in 1..20_u64) {
        let mut offsets = problem.solve(&quick()).unwrap().offsets;
        let index = index % offsets.len();
        for offset in [offsets[index] + shift, offsets[index].saturating_sub(shift)] {
            let old = std::mem::replace(&mut offsets[index], offset);
            let valid = Small::of_graph(&problem).accepts(&offsets);
            prop_assert_eq!(problem.validate(&offsets).is_ok(), valid);
            offsets[index] = old;
        }
    }

    #[test]
    fn dropped_edges(problem in graphs()) {
        let offsets = problem.solve(&quick()).unwrap().offsets;
        for dropped in 0..problem.edges().len() {
            let mut edges = problem.edges().to_vec();
            edges.remove(dropped);
            let buffers = problem.buffers().to_vec();
            let mutant = HappensBeforeProblem::new(10, edges, buffers).unwrap();
            let valid = Small::of_graph(&mutant).accepts(&offsets);
            prop_assert_eq!(mutant.validate(&offsets).is_ok(), valid);
        }
    }
}

#[test]
fn every_edge_of_a_chain_is_relied_on() {
    let captured = super::capture::settings(1, false).next().unwrap().make().unwrap();
    let graph = captured.graph;
    let offsets = graph.solve(&quick()).unwrap().offsets;
    assert!(graph.validate(&offsets).is_ok());
    // One stream: dropping the edge in the middle unties its halves, which share bytes.
    let mut edges = graph.edges().to_vec();
    edges.remove(1000);
    let cut = HappensBeforeProblem::new(2000, edges, graph.buffers().to_vec()).unwrap();
    assert!(matches!(cut.validate(&offsets), Err(Violation::Unordered { .. })));
}

#[test]
fn one_byte_is_enough() {
    let text = include_str!("../data/A.1048576.csv");
    let problem: IntervalProblem = pool_plan::csv::read(text, Default::default()).unwrap();
    let plan = problem.solve(&quick()).unwrap();
    let mut caught = 0;
    for index in 0..plan.offsets.len() {
        let mut offsets = plan.offsets.clone();
        offsets[index] = offsets[index].saturating_sub(1);
        if plan.offsets[index] > 0 && problem.validate(&offsets).is_err() {
            caught += 1;
        }
    }
    // A greedy plan puts every buffer at 0 or right above another one.
    let above = plan.offsets.iter().filter(|&&offset| offset > 0).count();
    assert_eq!(caught, above);
}
