//! Each error of an arena gives the advice of the arena's policy, and no other advice.

use pool_graph::{
    ArenaPlan, ArenaPolicy, ArenaShortage, CudaArena, Divergence, GraphMemoryError,
    SyntheticMemory, SyntheticRefusal,
};
use pool_plan::{Buffer, IntervalProblem, Options};

type Error = GraphMemoryError<SyntheticRefusal>;

/// Words of each advice that no other one has.
const ADVICE: [(ArenaShortage, &str); 6] = [
    (ArenaShortage::Monotone, "the sum of a capture's allocations"),
    (ArenaShortage::Linear, "drop views earlier"),
    (ArenaShortage::SmallerThanPlan, "at least the plan's peak"),
    (ArenaShortage::NotInPlan, "probe the body again"),
    (ArenaShortage::MadeForAnotherGraph, "capture the graph with the largest plan first"),
    (ArenaShortage::IdleMemory, "acquire less at once"),
];

/// Returns a plan of two buffers, each of 512 bytes.
fn planned(divergence: Divergence) -> ArenaPolicy {
    let aligned = |name: &str| Buffer { alignment: 256, ..Buffer::new(name, 0, 2, 512) };
    let problem = IntervalProblem::new(vec![aligned("first"), aligned("second")]).unwrap();
    let plan = problem.solve(&Options::default()).unwrap();
    ArenaPolicy::Planned(
        ArenaPlan::of_intervals(&problem, &plan).unwrap().on_divergence(divergence),
    )
}

fn arena(policy: ArenaPolicy) -> CudaArena<SyntheticMemory> {
    CudaArena::new(SyntheticMemory::new(), 2048, policy).unwrap()
}

/// Returns the error of an excessive request.
fn too_much(policy: ArenaPolicy) -> Error {
    arena(policy).allocate(4096).unwrap_err()
}

/// Returns the error of an arena whose capture forks.
fn forked(policy: ArenaPolicy) -> Option<Error> {
    arena(policy).forked().err()
}

#[test]
fn advice_fits_the_policy() {
    let (refuse, fresh) = (planned(Divergence::Refuse), planned(Divergence::FreshBytes));
    let small = CudaArena::new(SyntheticMemory::new(), 256, refuse.clone()).map(drop).unwrap_err();
    let cases = [
        ("monotone, too much", too_much(ArenaPolicy::Monotone), ArenaShortage::Monotone),
        ("linear, too much", too_much(ArenaPolicy::Linear), ArenaShortage::Linear),
        ("planned with fresh bytes, too much", too_much(fresh.clone()), ArenaShortage::NotInPlan),
        ("smaller than its plan", small, ArenaShortage::SmallerThanPlan),
    ];
    for (case, error, expected) in cases {
        let text = error.to_string();
        for (shortage, words) in ADVICE {
            assert_eq!(text.contains(words), shortage == expected, "{case}: {text}");
        }
        assert!(matches!(error, Error::ArenaExhausted { shortage, .. } if shortage == expected));
    }

    let diverged = too_much(refuse.clone());
    assert!(matches!(diverged, Error::PlanDiverged { .. }), "{diverged:?}");
    assert!(diverged.to_string().contains("create a new plan"), "{diverged}");

    for policy in [ArenaPolicy::Monotone, refuse, fresh] {
        assert_eq!(forked(policy), None);
    }
    let text = forked(ArenaPolicy::Linear).unwrap().to_string();
    assert!(text.contains("the Monotone or Planned policy"), "{text}");
}

#[test]
fn each_advice_is_in_no_other_one() {
    for (shortage, words) in ADVICE {
        for (other, _) in ADVICE {
            assert_eq!(other.advice().contains(words), other == shortage, "{other:?}");
        }
    }
}
