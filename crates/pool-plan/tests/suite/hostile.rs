//! Numbers at the ends of their ranges: a typed error or a valid plan, never a panic.

use pool_plan::{
    Buffer, Edge, EdgeKind, Gap, GraphBuffer, HappensBeforeProblem, IntervalProblem, Options,
    PlanError, Role,
};
use proptest::prelude::*;
use proptest::sample::select;

fn bytes() -> impl Strategy<Value = u64> {
    let top = i64::MAX as u64;
    let large = select(vec![u64::MAX, top, top - 1, 1 << 63, 1 << 62, (1 << 62) + 1, 1 << 61]);
    prop_oneof![40 => 0..5_u64, 6 => Just(1 << 60), 3 => large, 1 => any::<u64>()]
}

fn alignments() -> impl Strategy<Value = u64> {
    prop_oneof![20 => Just(1), 5 => Just(4), 1 => select(vec![0, 3, 4096, 1 << 62, 1 << 63, u64::MAX])]
}

fn offsets() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![15 => Just(None), 1 => bytes().prop_map(Some)]
}

fn times() -> impl Strategy<Value = i64> {
    let ends = select(vec![i64::MIN, i64::MIN + 1, -1, i64::MAX - 1, i64::MAX]);
    prop_oneof![2 => 0..6_i64, 1 => ends]
}

fn lifetimes() -> impl Strategy<Value = (i64, i64)> {
    (times(), times(), 0..50_u32).prop_map(|(one, other, inverted)| {
        if inverted == 0 {
            (one.max(other), one.min(other))
        } else {
            (one.min(other), one.max(other).max(one.min(other).saturating_add(1)))
        }
    })
}

fn quick() -> Options {
    Options { rounds: Some(3), threads: 1, ..Options::default() }
}

fn intervals() -> impl Strategy<Value = Vec<Buffer>> {
    let gap = (lifetimes(), 0..8_u32).prop_map(|(gap, some)| (some == 0).then_some(gap));
    let buffer = (lifetimes(), bytes(), alignments(), offsets(), gap, 0..200_usize);
    prop::collection::vec(buffer, 0..7).prop_map(|rows| {
        let mut buffers = Vec::new();
        for (index, (lifetime, size, alignment, offset, gap, name)) in rows.into_iter().enumerate()
        {
            let name = if name == 0 { 0 } else { index };
            let mut buffer = Buffer::new(name.to_string(), lifetime.0, lifetime.1, size);
            (buffer.alignment, buffer.offset) = (alignment, offset);
            buffer.gaps = gap.into_iter().map(|(lower, upper)| Gap { lower, upper }).collect();
            buffers.push(buffer);
        }
        buffers
    })
}

/// Size, alignment, offset, alloc marker, free markers and role.
type Row = (u64, u64, Option<u64>, usize, Vec<usize>, Role);

fn graphs() -> impl Strategy<Value = (usize, Vec<Edge>, Vec<GraphBuffer>)> {
    let operation = || prop_oneof![100 => 0..6_usize, 1 => Just(usize::MAX)];
    let edges = prop::collection::vec((0..6_usize, operation(), any::<bool>()), 0..4);
    let role = select(vec![Role::Temporary, Role::LiveIn]);
    let frees = prop::collection::vec(operation(), 0..2);
    let buffer = (bytes(), alignments(), offsets(), operation(), frees, role);
    let counts =
        prop_oneof![10 => Just(6_usize), 1 => Just(0), 1 => Just(usize::MAX), 1 => Just(1 << 31)];
    (counts, edges, prop::collection::vec(buffer, 0..7)).prop_map(|(count, edges, rows)| {
        let edge = |(from, to, full): (usize, usize, bool)| {
            let kind = if full { EdgeKind::Full } else { EdgeKind::Programmatic };
            Edge { from, to, kind }
        };
        let buffer = |(index, row): (usize, Row)| {
            let (size, alignment, offset, allocated_by, freed_by, role) = row;
            let id = index.to_string();
            GraphBuffer { id, size, alignment, offset, allocated_by, freed_by, role }
        };
        let buffers = rows.into_iter().enumerate().map(buffer).collect();
        (count, edges.into_iter().map(edge).collect(), buffers)
    })
}

#[test]
fn extreme_intervals() {
    super::try_counted((intervals(), bytes()), 0.1, |(buffers, capacity)| {
        let Ok(problem) = IntervalProblem::new(buffers.clone()) else { return Ok(0) };
        let plan = problem.solve(&quick()).unwrap();
        prop_assert_eq!(problem.validate(&plan.offsets), Ok(plan.certificate.peak));
        prop_assert!(plan.certificate.bound <= plan.certificate.peak);
        prop_assert!(plan.certificate.ratio() >= 1.0);
        let limited = Options { capacity: Some(*capacity), tolerance: 1e300, ..quick() };
        if let Ok(plan) = problem.solve(&limited) {
            prop_assert!(problem.validate(&plan.offsets).unwrap() <= *capacity);
        }
        Ok(1)
    });
}

#[test]
fn extreme_graphs() {
    super::try_counted((graphs(), bytes()), 0.1, |((operations, edges, buffers), capacity)| {
        let problem = HappensBeforeProblem::new(*operations, edges.clone(), buffers.clone());
        let Ok(problem) = problem else { return Ok(0) };
        let plan = problem.solve(&quick()).unwrap();
        prop_assert_eq!(problem.validate(&plan.offsets), Ok(plan.certificate.peak));
        prop_assert!(plan.certificate.bound <= plan.certificate.peak);
        let limited = Options { capacity: Some(*capacity), ..quick() };
        if let Ok(plan) = problem.solve(&limited) {
            prop_assert!(problem.validate(&plan.offsets).unwrap() <= *capacity);
        }
        Ok(1)
    });
}

proptest! {
    #![proptest_config(super::config())]

    #[test]
    fn any_offsets_are_judged(buffers in intervals(), offsets in prop::collection::vec(bytes(), 0..7)) {
        if let Ok(problem) = IntervalProblem::new(buffers) {
            if let Ok(peak) = problem.validate(&offsets) {
                prop_assert!(peak >= problem.lower_bound().bytes);
            }
        }
    }
}

#[test]
fn the_largest_sizes_are_exact() {
    let (before, after) = ((1_u64 << 62) - 1, (1_u64 << 62) - 2);
    let buffers =
        vec![GraphBuffer::new("before", before, 0, [0]), GraphBuffer::new("after", after, 1, [1])];
    let plan = |edges| {
        let problem = HappensBeforeProblem::new(2, edges, buffers.clone()).unwrap();
        problem.solve(&quick()).unwrap().certificate
    };
    let (ordered, forked) = (plan(vec![Edge::full(0, 1)]), plan(vec![]));
    assert_eq!((ordered.bound, ordered.peak), (before, before));
    assert_eq!((forked.bound, forked.peak), (before + after, before + after));
}

#[test]
fn graphs_beyond_memory_are_refused() {
    let buffer = || GraphBuffer::new("a", 1, 0, [0]);
    let too_many = |what, count, limit| Err(PlanError::TooMany { what, count, limit });
    let edges = vec![Edge::full(0, 1); (1 << 22) + 1];
    let refused = HappensBeforeProblem::new(2, edges, vec![buffer()]);
    assert_eq!(refused, too_many("edges", (1 << 22) + 1, 1 << 22));
    let refused = HappensBeforeProblem::new(2, vec![], vec![buffer(); 92_673]);
    assert_eq!(refused, too_many("buffers", 92_673, 92_672));
    let markers = GraphBuffer::new("a", 1, 0, vec![0; 1 << 21]);
    let refused = HappensBeforeProblem::new(2, vec![], vec![markers; 3]);
    assert_eq!(refused, too_many("free markers", 3 << 21, 1 << 22));
    let mut gaps = Buffer::new("a", 0, 9, 1);
    gaps.gaps = vec![Gap { lower: 1, upper: 2 }; 1 << 20];
    let refused = IntervalProblem::new(vec![gaps]);
    let (what, limit) = ("buffers and gaps", 1 << 20);
    assert_eq!(refused, Err(PlanError::TooMany { what, count: limit + 1, limit }));
}

/// Operations that no edge and no buffer names cost nothing, in any number.
#[test]
fn operations_that_nothing_names_are_no_matter() {
    let buffers = || {
        let last = usize::MAX - 1;
        vec![GraphBuffer::new("a", 8, 0, [5]), GraphBuffer::new("b", 8, last, [last])]
    };
    let peak = |edges| {
        let problem = HappensBeforeProblem::new(usize::MAX, edges, buffers()).unwrap();
        problem.solve(&quick()).unwrap().certificate.peak
    };
    assert_eq!(peak(vec![]), 16);
    assert_eq!(peak(vec![Edge::full(0, 5), Edge::full(5, usize::MAX - 1)]), 8);
}

/// A buffer that is live later than it begins, because of a gap, follows one that is placed later.
#[test]
fn a_gap_at_the_beginning() {
    let mut late = Buffer::new("late", 0, 2, 0);
    late.gaps = vec![Gap { lower: 0, upper: 1 }];
    let buffers = vec![late, Buffer::new("long", i64::MIN, 1, 1), Buffer::new("short", 0, 1, 1)];
    let problem = IntervalProblem::new(buffers).unwrap();
    let plan = problem.solve(&quick()).unwrap();
    assert_eq!(problem.validate(&plan.offsets), Ok(2));
}
