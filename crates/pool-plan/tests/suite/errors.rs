//! Bad input is refused with its numbers.

use pool_plan::{
    Buffer, Edge, EdgeKind, Gap, GraphBuffer, HappensBeforeProblem, IntervalProblem, Options,
    PlanError, Violation,
};

fn error(buffers: Vec<Buffer>) -> PlanError {
    IntervalProblem::new(buffers).unwrap_err()
}

#[test]
fn malformed_buffers() {
    assert_eq!(error(vec![]), PlanError::Empty);
    let id = || "a".to_owned();
    assert_eq!(
        error(vec![Buffer::new("a", 5, 3, 1)]),
        PlanError::InvertedLifetime { id: id(), lower: 5, upper: 3 }
    );
    let mut odd = Buffer::new("a", 0, 1, 1);
    odd.alignment = 24;
    assert_eq!(error(vec![odd]), PlanError::BadAlignment { id: id(), alignment: 24 });
    let mut misplaced = Buffer::new("a", 0, 1, 1);
    (misplaced.alignment, misplaced.offset) = (8, Some(12));
    assert_eq!(
        error(vec![misplaced]),
        PlanError::MisalignedOffset { id: id(), offset: 12, alignment: 8 }
    );
    let mut gaps = Buffer::new("a", 0, 4, 1);
    gaps.gaps = vec![Gap { lower: 3, upper: 5 }];
    assert_eq!(error(vec![gaps]), PlanError::BadGap { id: id(), lower: 3, upper: 5 });
    let mut nothing = Buffer::new("a", 0, 4, 1);
    nothing.gaps = vec![Gap { lower: 0, upper: 4 }];
    assert_eq!(error(vec![nothing]), PlanError::BadGap { id: id(), lower: 0, upper: 4 });
}

#[test]
fn sums_and_names() {
    let half = 1 << 62;
    assert_eq!(
        error(vec![Buffer::new("a", 0, 1, half), Buffer::new("b", 0, 1, half)]),
        PlanError::SizeOverflow { id: "b".to_owned(), size: half, sum: half }
    );
    assert_eq!(
        error(vec![
            Buffer::new("a", 0, 1, 1),
            Buffer::new("b", 0, 1, 1),
            Buffer::new("a", 0, 1, 1)
        ]),
        PlanError::DuplicateId { id: "a".to_owned(), first: 0, second: 2 }
    );
    let mut fixed = [Buffer::new("a", 0, 2, 8), Buffer::new("b", 1, 3, 8)];
    (fixed[0].offset, fixed[1].offset) = (Some(0), Some(4));
    assert_eq!(
        error(fixed.to_vec()),
        PlanError::FixedOverlap(Violation::LiveTogether { first: 0, second: 1, time: 1 })
    );
}

#[test]
fn malformed_graphs() {
    let buffer = |operation: usize| vec![GraphBuffer::new("a", 1, operation, [operation])];
    assert_eq!(
        HappensBeforeProblem::new(2, vec![Edge::full(0, 7)], buffer(0)),
        Err(PlanError::UnknownOperation { operation: 7, operations: 2 })
    );
    assert_eq!(
        HappensBeforeProblem::new(2, vec![], buffer(3)),
        Err(PlanError::UnknownOperation { operation: 3, operations: 2 })
    );
    let edges = vec![Edge::full(0, 1), Edge::full(1, 2), Edge::full(2, 1), Edge::full(2, 3)];
    let Err(PlanError::Cycle { mut operations }) = HappensBeforeProblem::new(4, edges, buffer(0))
    else {
        panic!("a cycle is accepted");
    };
    operations.sort_unstable();
    assert_eq!(operations, [1, 2]);
}

#[test]
fn infeasible_capacity_has_its_witness() {
    let buffers =
        vec![Buffer::new("a", 0, 2, 8), Buffer::new("b", 1, 3, 8), Buffer::new("c", 2, 4, 9)];
    let problem = IntervalProblem::new(buffers).unwrap();
    let options = Options { capacity: Some(16), ..Options::default() };
    assert_eq!(
        problem.solve(&options),
        Err(PlanError::Infeasible { capacity: 16, bound: 17, witness: vec![1, 2] })
    );
    let options = Options { tolerance: 0.5, ..Options::default() };
    assert_eq!(problem.solve(&options), Err(PlanError::BadTolerance { tolerance: 0.5 }));
}

#[test]
fn a_violation_says_which_buffers_and_numbers() {
    let (first, second, buffer, offset) = (21, 22, 23, 24_u64);
    let cases: [(Violation, &[&str]); 6] = [
        (Violation::LiveTogether { first, second, time: -7 }, &["#21", "#22", "live at time -7"]),
        (Violation::Unordered { first, second }, &["#21", "#22", "at the same time"]),
        (Violation::Misaligned { buffer, offset, alignment: 16 }, &["#23", "24", "multiple of 16"]),
        (Violation::Moved { buffer, offset, fixed: 32 }, &["#23", "24", "requires offset 32"]),
        (Violation::Overflow { buffer, offset }, &["#23", "24", "address"]),
        (
            Violation::WrongLength { offsets: 3, buffers: 4 },
            &["the plan contains 3 offsets, but the problem has 4 buffers"],
        ),
    ];
    for (violation, words) in cases {
        let text = violation.to_string();
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
    }
}

/// No use can be after the alloc marker and before such a free marker.
#[test]
fn a_buffer_freed_before_it_is_allocated() {
    let of = |edges: &[Edge], buffers: &[(&str, usize, &[usize])]| {
        let buffers =
            buffers.iter().map(|&(id, begin, frees)| GraphBuffer::new(id, 1, begin, frees));
        HappensBeforeProblem::new(200, edges.to_vec(), buffers.collect())
    };
    let early = |id: &str, allocated_by, freed_by| {
        Err(PlanError::FreedBeforeAllocated { id: id.to_owned(), allocated_by, freed_by })
    };
    let line: Vec<Edge> = (1..200).map(|to| Edge::full(to - 1, to)).collect();
    assert!(of(&line, &[("a", 3, &[3]), ("b", 3, &[150, 4]), ("c", 3, &[])]).is_ok());
    assert_eq!(of(&line, &[("a", 3, &[3]), ("b", 3, &[4, 2])]), early("b", 3, 2));
    assert_eq!(of(&line, &[("a", 0, &[0]), ("b", 199, &[0])]), early("b", 199, 0));
    // The first buffer, and its first free marker, of a hundred that are wrong.
    let names: Vec<String> = (0..100).map(|index| index.to_string()).collect();
    let frees: Vec<[usize; 2]> = (0..100).map(|index| [150 - index, 149 - index]).collect();
    let many: Vec<(&str, usize, &[usize])> =
        names.iter().zip(&frees).map(|(id, frees)| (id.as_str(), 160, &frees[..])).collect();
    assert_eq!(of(&line, &many), early("0", 160, 150));
    // An edge that orders no memory orders the markers all the same.
    let launched = [Edge { from: 1, to: 2, kind: EdgeKind::Programmatic }];
    assert_eq!(of(&launched, &[("a", 2, &[1])]), early("a", 2, 1));
    // Nothing leads from the one to the other.
    assert!(of(&[], &[("a", 2, &[1])]).is_ok());
    let error = of(&line, &[("a", 3, &[2])]).unwrap_err().to_string();
    assert!(
        error.contains("buffer a")
            && error.contains("operation 2")
            && error.contains("operation 3")
    );
}
