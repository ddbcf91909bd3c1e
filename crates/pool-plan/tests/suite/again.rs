//! Plans that start from an earlier one, the reasons for which planning stops, and buffers without names.

use std::time::Duration;

use pool_plan::{
    Buffer, Gap, HappensBeforeProblem, IntervalProblem, Monitor, Options, PlanError, Proof,
    StopReason, Violation,
};

use super::capture::{Capture, settings};
use super::families::{FAMILIES, Random, problem};

/// Options with time for the first plan only.
fn no_time() -> Options {
    Options { budget: Duration::ZERO, threads: 1, ..Options::default() }
}

#[test]
fn a_plan_from_the_last_one_is_no_worse() {
    let (mut changed, mut lower) = (0, 0);
    for number in 0..u64::from(super::cases()).div_ceil(10) {
        let mut random = Random::new(number ^ 0xA6A1);
        let family = FAMILIES[random.below(FAMILIES.len() as u64) as usize];
        let before = problem(family, 8 + random.below(200) as usize, number);
        let options = Options { rounds: Some(2), threads: 1, ..Options::default() };
        let plan = before.solve(&options).unwrap();
        // Buffers are removed, shrink or end earlier; none is new.
        let (mut buffers, mut last) = (Vec::new(), Vec::new());
        for (buffer, &offset) in before.buffers().iter().zip(&plan.offsets) {
            let mut buffer = buffer.clone();
            match random.below(12) {
                0 => continue,
                1 => buffer.size /= 2,
                2 if buffer.gaps.is_empty() => buffer.upper = buffer.lower + 1,
                _ => {}
            }
            buffers.push(buffer);
            last.push(Some(offset));
        }
        if buffers.is_empty() {
            continue;
        }
        let after = IntervalProblem::new(buffers).unwrap();
        let again = after.solve_from(&last, &no_time(), &Monitor::new()).unwrap();
        assert_eq!(after.validate(&again.offsets), Ok(again.certificate.peak));
        let (peak, most) = (again.certificate.peak, plan.certificate.peak);
        assert!(peak <= most, "{family:?} {number}: {peak} of {most}");
        changed += 1;
        lower += usize::from(peak < after.solve(&no_time()).unwrap().certificate.peak);
    }
    println!("{changed} plans, {lower} of them below the first plan without an earlier one");
    assert!(lower * 4 >= changed, "{lower} of {changed}");
}

#[test]
fn a_graph_is_planned_from_its_last_plan() {
    for (seed, setting) in settings(16, false).enumerate() {
        let before = Capture { operations: 60, ..setting }.make().unwrap().graph;
        let options = Options { rounds: Some(2), threads: 1, ..Options::default() };
        let plan = before.solve(&options).unwrap();
        let last: Vec<Option<u64>> = plan.offsets.iter().copied().map(Some).collect();
        let mut buffers = before.buffers().to_vec();
        buffers[0].size /= 2;
        let (operations, edges) = (before.operations(), before.edges().to_vec());
        let after = HappensBeforeProblem::new(operations, edges, buffers).unwrap();
        let again = after.solve_from(&last, &no_time(), &Monitor::new()).unwrap();
        assert!(again.certificate.peak <= plan.certificate.peak, "seed {seed}");
        assert_eq!(after.validate(&again.offsets), Ok(again.certificate.peak));
    }
}

/// Offsets of an earlier plan give only an order, so they may be any numbers.
#[test]
fn offsets_that_are_no_plan_do_no_harm() {
    let problem = problem(FAMILIES[1], 120, 3);
    for last in [vec![], vec![Some(0); 120], vec![Some(u64::MAX); 3], vec![None; 500]] {
        let plan = problem.solve_from(&last, &no_time(), &Monitor::new()).unwrap();
        assert_eq!(problem.validate(&plan.offsets), Ok(plan.certificate.peak));
    }
    let fixed: Vec<Buffer> = problem.buffers().iter().take(1).cloned().collect();
    let fixed = Buffer { offset: Some(64), alignment: 1, ..fixed[0].clone() };
    let problem = IntervalProblem::new(vec![fixed]).unwrap();
    let plan = problem.solve_from(&[Some(7)], &no_time(), &Monitor::new()).unwrap();
    assert_eq!(plan.offsets, [64], "a fixed offset stays");
}

#[test]
fn a_plan_says_why_it_stopped() {
    // Peak 4 at bound 3; a search proves it (see `exhausted_capacity_is_proved`).
    let ring = [(0, 2, 2), (1, 4, 1), (3, 6, 2), (5, 8, 1), (0, 1, 1), (7, 8, 2)];
    let ring = ring.map(|(lower, upper, size)| Buffer::unnamed(lower, upper, size));
    let ring = IntervalProblem::new(ring.to_vec()).unwrap();
    let plan = ring.solve(&Options::default()).unwrap();
    let by_search = plan.certificate.peak > plan.certificate.bound;
    assert_eq!(plan.proof, if by_search { Proof::Search } else { Proof::Witness });
    assert_eq!((plan.stopped, plan.certificate.ratio()), (StopReason::Optimal, 1.0));

    let tight = super::held_out::pinwheels(300, 5).unwrap();
    let solve = |options: &Options| tight.solve(options).unwrap();
    let rounds = solve(&Options { rounds: Some(1), ..Options::default() });
    assert_eq!((rounds.stopped, rounds.proof), (StopReason::Rounds, Proof::Unlikely));
    assert!(rounds.certificate.ratio() > 1.0);
    let budget = solve(&Options { budget: Duration::from_millis(20), ..Options::default() });
    assert_eq!(budget.stopped, StopReason::Budget);
    let enough = solve(&Options { tolerance: 2.0, ..Options::default() });
    assert_eq!(enough.stopped, StopReason::GoodEnough);
    let capacity = Some(2 * enough.certificate.bound);
    let enough = solve(&Options { capacity, ..Options::default() });
    assert_eq!(enough.stopped, StopReason::GoodEnough);
    let monitor = Monitor::new();
    monitor.cancel();
    let cancelled = tight.solve_watched(&Options::default(), &monitor).unwrap();
    assert_eq!(cancelled.stopped, StopReason::Cancelled);
}

/// Names only break ties. Without names, the place in the problem breaks them.
#[test]
fn names_may_be_missing() {
    let unnamed = |lower, upper, size| Buffer::unnamed(lower, upper, size);
    let buffers = vec![unnamed(0, 2, 8), Buffer::new("a", 0, 2, 8), unnamed(1, 3, 8)];
    let problem = IntervalProblem::new(buffers.clone()).unwrap();
    assert_eq!(problem.solve(&Options::default()).unwrap().certificate.peak, 24);
    let error = |change: &dyn Fn(&mut Buffer)| {
        let mut buffers = buffers.clone();
        change(&mut buffers[2]);
        IntervalProblem::new(buffers).unwrap_err()
    };
    let id = || "#2".to_owned();
    let inverted = PlanError::InvertedLifetime { id: id(), lower: 1, upper: 1 };
    assert_eq!(error(&|one| one.upper = 1), inverted);
    assert_eq!(error(&|one| one.alignment = 3), PlanError::BadAlignment { id: id(), alignment: 3 });
    let gap = Gap { lower: 0, upper: 9 };
    assert_eq!(
        error(&|one| one.gaps = vec![gap]),
        PlanError::BadGap { id: id(), lower: 0, upper: 9 }
    );
    let twice = PlanError::DuplicateId { id: "a".to_owned(), first: 1, second: 2 };
    assert_eq!(error(&|one| one.id = "a".to_owned()), twice);
}

/// The validator computes each bound anew, for any alignments, gaps, fixed offsets and edges.
#[test]
fn a_witness_proves_its_bound() {
    for number in 0..u64::from(super::cases()).div_ceil(4) {
        let mut random = Random::new(number ^ 0x3171);
        let family = FAMILIES[random.below(FAMILIES.len() as u64) as usize];
        let problem = problem(family, 4 + random.below(120) as usize, number);
        let mut buffers = problem.buffers().to_vec();
        for buffer in buffers.iter_mut().filter(|_| number % 2 == 0) {
            buffer.alignment = [1, 64, 256, 4096][random.below(4) as usize];
        }
        if number % 5 == 0 {
            buffers[0].offset = Some(random.below(99) * buffers[0].alignment * 100);
        }
        let problem = IntervalProblem::new(buffers).unwrap();
        let bound = problem.lower_bound();
        assert_eq!(problem.validate_witness(&bound.witness), Ok(bound.bytes), "{number}");
        if let Some(&one) = bound.witness.first() {
            let twice = [bound.witness.as_slice(), &[one]].concat();
            assert!(problem.validate_witness(&twice).is_err());
        }
        let count = problem.buffers().len();
        let absent = Violation::NoSuchBuffer { buffer: count };
        assert_eq!(problem.validate_witness(&[count]), Err(absent));
        let all: Vec<usize> = (0..count).collect();
        match problem.validate_witness(&all) {
            Ok(bytes) => assert!(bytes <= bound.bytes),
            Err(Violation::NotAtOnce { buffer, time }) => {
                let spans = || problem.buffers()[buffer].live_spans();
                assert!(spans().all(|(lower, upper)| time < lower || upper <= time));
            }
            Err(other) => panic!("{other}"),
        }
    }
    for setting in settings(16, true).chain(settings(16, false)) {
        let graph = Capture { operations: 300, ..setting }.make().unwrap().graph;
        let bound = graph.lower_bound();
        assert_eq!(graph.validate_witness(&bound.witness), Ok(bound.bytes), "{setting:?}");
        let all: Vec<usize> = (0..graph.buffers().len()).collect();
        if let Ok(bytes) = graph.validate_witness(&all) {
            assert!(bytes <= bound.bytes);
        }
        let twice = [bound.witness[0], bound.witness[0]];
        assert!(graph.validate_witness(&twice).is_err());
    }
}
