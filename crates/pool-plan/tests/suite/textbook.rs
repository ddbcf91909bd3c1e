//! No plan is worse than that of a textbook heuristic, unless it names the heuristic as not tried. Each heuristic
//! is written here anew, in the plainest way, and shares nothing with the library.

use std::time::Duration;

use pool_plan::{
    Buffer, GreedyFit, GreedyHeuristic, GreedyOrder, IntervalProblem, Monitor, Options, Plan,
};

use super::families::{FAMILIES, Family, Random, problem};

/// What decides between buffers that an order puts at the same place and that start together.
#[derive(Clone, Copy, Debug)]
enum Last {
    Place,
    Name,
}

/// A problem as the heuristics see it.
struct Naive<'a> {
    buffers: &'a [Buffer],
    /// For each buffer, how many live spans of others meet its own.
    meetings: Vec<usize>,
}

impl<'a> Naive<'a> {
    fn new(problem: &'a IntervalProblem) -> Self {
        let buffers = problem.buffers();
        let meetings = |one: &Buffer| {
            let others = buffers.iter().filter(|&other| !std::ptr::eq(one, other));
            let spans = others.flat_map(Buffer::live_spans);
            spans.map(|span| one.live_spans().filter(|&own| overlap(own, span)).count()).sum()
        };
        Self { buffers, meetings: buffers.iter().map(meetings).collect() }
    }

    /// The number that an order goes by, smallest first.
    fn key(&self, order: GreedyOrder, index: usize) -> i128 {
        let buffer = &self.buffers[index];
        let lifetime: i128 = buffer.live_spans().map(|(from, to)| i128::from(to - from)).sum();
        match order {
            GreedyOrder::Size => -i128::from(buffer.size),
            GreedyOrder::Area => -i128::from(buffer.size) * lifetime,
            GreedyOrder::Lifetime => -lifetime,
            GreedyOrder::Start => buffer.lower.into(),
            GreedyOrder::Conflicts => -(self.meetings[index] as i128),
        }
    }

    /// The peak of a heuristic's plan.
    fn peak(&self, heuristic: GreedyHeuristic, last: Last) -> u64 {
        let mut order: Vec<usize> = (0..self.buffers.len()).collect();
        order.sort_by_key(|&index| {
            let buffer = &self.buffers[index];
            let name = matches!(last, Last::Name).then_some(&buffer.id);
            (self.key(heuristic.order, index), buffer.lower, name, index)
        });
        // (offset, buffer) of what is placed, in order of offsets.
        let mut placed: Vec<(u64, &Buffer)> = Vec::new();
        for index in order {
            let buffer = &self.buffers[index];
            let offset = offset(buffer, &placed, heuristic.fit);
            let place = placed.partition_point(|one| one.0 < offset);
            placed.insert(place, (offset, buffer));
        }
        placed.iter().map(|(offset, buffer)| offset + buffer.size).max().unwrap_or(0)
    }
}

fn overlap(one: (i64, i64), other: (i64, i64)) -> bool {
    one.0 < other.1 && other.0 < one.1
}

fn conflict(one: &Buffer, other: &Buffer) -> bool {
    one.live_spans().any(|own| other.live_spans().any(|span| overlap(own, span)))
}

/// Where a buffer goes among those that are placed, which are in order of offsets.
fn offset(buffer: &Buffer, placed: &[(u64, &Buffer)], fit: GreedyFit) -> u64 {
    let mut ranges = Vec::new();
    let mut end = 0;
    for &(start, other) in placed {
        if conflict(buffer, other) {
            if start > end {
                ranges.push((start - end, end, start));
            }
            end = end.max(start + other.size);
        }
    }
    let aligned = |start: u64| start.div_ceil(buffer.alignment) * buffer.alignment;
    ranges.retain(|&(_, start, end)| aligned(start) + buffer.size <= end);
    let range = match fit {
        GreedyFit::First => ranges.first(),
        GreedyFit::Best => ranges.iter().min_by_key(|range| (range.0, range.1)),
    };
    aligned(range.map_or(end, |range| range.1))
}

/// Asserts the rule, with both readings of "then by id".
fn assert_no_worse(problem: &IntervalProblem, plan: &Plan, what: &str) {
    assert_eq!(problem.validate(&plan.offsets), Ok(plan.certificate.peak));
    if plan.certificate.is_optimal() {
        assert_eq!(plan.untried, [], "{what}");
        return;
    }
    let naive = Naive::new(problem);
    for heuristic in GreedyHeuristic::ALL {
        if plan.untried.contains(&heuristic) {
            continue;
        }
        for last in [Last::Place, Last::Name] {
            let (ours, theirs) = (plan.certificate.peak, naive.peak(heuristic, last));
            assert!(ours <= theirs, "{what}: {ours} > {theirs} by {heuristic}, {last:?}");
        }
    }
}

/// Options that end with the greedy plans, whatever time these take.
fn only_greedy() -> Options {
    let budget = Duration::from_secs(3600);
    Options { rounds: Some(0), threads: 1, budget, ..Options::default() }
}

fn each_problem(count: u64, sizes: std::ops::Range<u64>, check: impl Fn(&IntervalProblem, &str)) {
    for number in 0..count {
        let mut random = Random::new(number);
        let family = FAMILIES[(number as usize * 5 + 3) % FAMILIES.len()];
        let size = sizes.start + random.below(sizes.end - sizes.start);
        let problem = problem(family, size as usize, number);
        check(&problem, &format!("{family:?} of {size}, seed {number}"));
    }
}

#[test]
fn no_small_plan_is_worse_than_a_heuristic() {
    each_problem(u64::from(super::cases()) * 3, 2..60, |problem, what| {
        let plan = problem.solve(&only_greedy()).unwrap();
        assert_eq!(plan.untried, [], "{what}");
        assert_no_worse(problem, &plan, what);
    });
}

#[test]
fn no_large_plan_is_worse_than_a_heuristic() {
    each_problem(6, 1_000..2_500, |problem, what| {
        let plan = problem.solve(&Options { threads: 2, ..only_greedy() }).unwrap();
        assert_eq!(plan.untried, [], "{what}");
        assert_no_worse(problem, &plan, what);
    });
}

#[test]
fn what_was_not_tried_is_named() {
    each_problem(240, 2..120, |problem, what| {
        let stopped = Monitor::new();
        stopped.cancel();
        let plan = problem.solve_watched(&Options::default(), &stopped).unwrap();
        assert_no_worse(problem, &plan, what);
        let is_optimal = plan.certificate.is_optimal();
        assert!(is_optimal || plan.untried.len() >= 9, "{what}: {:?}", plan.untried);
        for tolerance in [1.1, 1.5] {
            let plan = problem.solve(&Options { tolerance, ..only_greedy() }).unwrap();
            assert_no_worse(problem, &plan, what);
        }
    });
}

#[test]
fn repairs_improve_many_buffers_alike_on_any_number_of_threads() {
    let problem = problem(Family::LongTails, 2_100, 5);
    let greedy = problem.solve(&only_greedy()).unwrap();
    let plan = |threads| {
        let options = Options { rounds: Some(1), threads, ..only_greedy() };
        problem.solve(&options).unwrap()
    };
    let improved = plan(1);
    assert_eq!(problem.validate(&improved.offsets), Ok(improved.certificate.peak));
    assert!(improved.certificate.peak < greedy.certificate.peak, "no better: {improved:?}");
    assert_eq!(improved, plan(2));
}
