//! The validator against brute force: it accepts exactly the valid plans, after any shift or drop
//! of buffers.

use pool_plan::{Edge, HappensBeforeProblem, Options, Violation};
use proptest::prelude::*;

use super::brute::Small;
use super::generated::{graphs, intervals};

fn quick() -> Options {
    Options { rounds: Some(0), threads: 1, ..Options::default() }
}

/// Returns `true` if the validator refuses `offsets` exactly if brute force does: 1 if both do.
fn agreed(small: &Small, offsets: &[u64], is_valid: bool) -> Result<usize, TestCaseError> {
    prop_assert_eq!(is_valid, small.accepts(offsets));
    Ok(usize::from(!is_valid))
}

/// `offsets` with one of them up or down by a little, for every one of them.
fn shifted(offsets: &[u64], shift: u64) -> impl Iterator<Item = Vec<u64>> + '_ {
    (0..offsets.len()).flat_map(move |index| {
        [offsets[index] + shift, offsets[index].saturating_sub(shift)].map(|offset| {
            let mut mutant = offsets.to_vec();
            mutant[index] = offset;
            mutant
        })
    })
}

/// `offsets` with one moved onto another that it may not share bytes with, for every such pair.
fn collided(offsets: &[u64], conflict: &[Vec<bool>]) -> Vec<Vec<u64>> {
    let pairs =
        (0..offsets.len()).flat_map(|one| (0..offsets.len()).map(move |other| (one, other)));
    let conflicting = pairs.filter(|&(one, other)| conflict[one][other]);
    let collide = |(one, other): (usize, usize)| {
        let mut mutant = offsets.to_vec();
        mutant[one] = mutant[other];
        mutant
    };
    conflicting.map(collide).collect()
}

#[test]
fn shifted_offset_in_time() {
    super::try_counted((intervals(), 1..20_u64), 1.0, |(problem, shift)| {
        let offsets = problem.solve(&quick()).unwrap().offsets;
        let small = Small::of_intervals(problem);
        let check = |mutant: Vec<u64>| agreed(&small, &mutant, problem.validate(&mutant).is_ok());
        shifted(&offsets, *shift).map(check).sum()
    });
}

#[test]
fn shifted_offset_in_a_graph() {
    super::try_counted((graphs(), 1..20_u64), 1.0, |(problem, shift)| {
        let offsets = problem.solve(&quick()).unwrap().offsets;
        let small = Small::of_graph(problem);
        let check = |mutant: Vec<u64>| agreed(&small, &mutant, problem.validate(&mutant).is_ok());
        shifted(&offsets, *shift).map(check).sum()
    });
}

#[test]
fn offset_shifted_onto_another() {
    super::try_counted(intervals(), 1.0, |problem| {
        let offsets = problem.solve(&quick()).unwrap().offsets;
        let mutants = collided(&offsets, &Small::of_intervals(problem).conflict);
        for mutant in &mutants {
            prop_assert!(problem.validate(mutant).is_err());
        }
        Ok(mutants.len())
    });
    super::try_counted(graphs(), 1.0, |problem| {
        let offsets = problem.solve(&quick()).unwrap().offsets;
        let mutants = collided(&offsets, &Small::of_graph(problem).conflict);
        for mutant in &mutants {
            prop_assert!(problem.validate(mutant).is_err());
        }
        Ok(mutants.len())
    });
}

#[test]
fn dropped_edges() {
    // Few random edges are relied on: most have another path beside them.
    super::try_counted(graphs(), 0.1, drop_each_edge);
    let chain = || (0..9).map(|operation| Edge::full(operation, operation + 1)).collect();
    let on_a_chain = |problem: HappensBeforeProblem| {
        HappensBeforeProblem::new(10, chain(), problem.buffers().to_vec()).unwrap()
    };
    super::try_counted(graphs().prop_map(on_a_chain), 1.0, drop_each_edge);
}

fn drop_each_edge(problem: &HappensBeforeProblem) -> Result<usize, TestCaseError> {
    let offsets = problem.solve(&quick()).unwrap().offsets;
    let drop_one = |dropped: usize| {
        let mut edges = problem.edges().to_vec();
        edges.remove(dropped);
        let buffers = problem.buffers().to_vec();
        let mutant = HappensBeforeProblem::new(10, edges, buffers).unwrap();
        agreed(&Small::of_graph(&mutant), &offsets, mutant.validate(&offsets).is_ok())
    };
    (0..problem.edges().len()).map(drop_one).sum()
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
    let problem = super::trace::trace("A.1048576.csv");
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
