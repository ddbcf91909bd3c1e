//! Arenas that follow a plan.

use pool_graph::{
    ArenaPlan, ArenaPlanError, ArenaPolicy, ArenaShortage, CudaArena, Deallocation, Divergence,
    GraphMemoryError, SyntheticMemory,
};
use pool_plan::{Buffer, Edge, GraphBuffer, HappensBeforeProblem, IntervalProblem, Options, Plan};

/// Returns two buffers with consecutive lifetimes, and one that is live with both.
fn intervals() -> (IntervalProblem, Plan) {
    let aligned = |buffer: Buffer| Buffer { alignment: 256, ..buffer };
    let problem = IntervalProblem::new(vec![
        aligned(Buffer::new("first", 0, 2, 1000)),
        aligned(Buffer::new("beside", 1, 4, 300)),
        aligned(Buffer::new("second", 3, 5, 900)),
    ])
    .unwrap();
    let plan = problem.solve(&Options::default()).unwrap();
    (problem, plan)
}

fn arena(plan: &ArenaPlan, capacity: u64) -> CudaArena<SyntheticMemory> {
    CudaArena::new(SyntheticMemory::new(), capacity, ArenaPolicy::Planned(plan.clone())).unwrap()
}

#[test]
fn allocations_go_where_the_plan_says() {
    let (problem, plan) = intervals();
    let followed = ArenaPlan::of_intervals(&problem, &plan).unwrap();
    assert_eq!((followed.peak(), followed.allocations()), (plan.certificate.peak, 3));
    let arena = arena(&followed, followed.peak());
    for _ in 0..3 {
        let first = arena.allocate(1000).unwrap();
        let beside = arena.allocate(300).unwrap();
        assert_eq!(arena.deallocate(first.address()), Deallocation::Region { bytes: 1000 });
        let second = arena.allocate(900).unwrap();
        let offsets = [first, beside, second].map(|region| region.offset());
        assert_eq!(offsets.to_vec(), plan.offsets);
        assert_eq!(first.offset(), second.offset(), "one after the other");
        let stats = arena.stats();
        assert!(stats.followed_plan);
        assert_eq!((stats.sum_bytes, stats.peak_live_bytes), (2200, 1300));
        assert_eq!(stats.high_water_bytes, plan.certificate.peak);
        arena.reset();
    }
}

#[test]
fn a_forked_graph_is_planned_by_its_edges() {
    let edges = vec![Edge::full(0, 1), Edge::full(0, 2), Edge::full(1, 3), Edge::full(2, 3)];
    let aligned = |buffer: GraphBuffer| GraphBuffer { alignment: 256, ..buffer };
    let buffers = vec![
        aligned(GraphBuffer::new("left", 512, 1, [1])),
        aligned(GraphBuffer::new("right", 256, 2, [2])),
        aligned(GraphBuffer::new("joined", 768, 3, [3])),
    ];
    let problem = HappensBeforeProblem::new(4, edges, buffers).unwrap();
    let plan = problem.solve(&Options::default()).unwrap();
    let followed = ArenaPlan::of_graph(&problem, &plan).unwrap();
    let arena = arena(&followed, 768);
    assert!(arena.forked().is_ok());
    let offsets = [512, 256, 768].map(|size| arena.allocate(size).unwrap().offset());
    assert_eq!(offsets.to_vec(), plan.offsets);
}

#[test]
fn another_allocation_than_the_plans_is_refused() {
    let (problem, plan) = intervals();
    let followed = ArenaPlan::of_intervals(&problem, &plan).unwrap();
    let arena = arena(&followed, 1 << 20);
    arena.allocate(1000).unwrap();
    let refused = arena.allocate(301).unwrap_err();
    let (allocation, planned) = (1, Some(300));
    assert_eq!(refused, GraphMemoryError::PlanDiverged { allocation, planned, requested: 301 });
    let unaligned = arena.allocate((300, 1 << 40)).unwrap_err();
    assert!(matches!(unaligned, GraphMemoryError::PlanDiverged { allocation: 1, .. }));
    assert!(arena.allocate(300).is_ok(), "a refusal changes nothing");
    arena.allocate(900).unwrap();
    let refused = arena.allocate(0).unwrap_err();
    let (allocation, planned) = (3, None);
    assert_eq!(refused, GraphMemoryError::PlanDiverged { allocation, planned, requested: 0 });
}

#[test]
fn fresh_bytes_lie_behind_the_plan() {
    let (problem, plan) = intervals();
    let followed = ArenaPlan::of_intervals(&problem, &plan).unwrap();
    let arena = arena(&followed.on_divergence(Divergence::FreshBytes), 4096);
    let behind = plan.certificate.peak.next_multiple_of(256);
    assert_eq!(arena.allocate(1000).unwrap().offset(), plan.offsets[0]);
    assert_eq!(arena.allocate(301).unwrap().offset(), behind);
    // It has the plan's size, and the plan is not followed any more.
    assert_eq!(arena.allocate(900).unwrap().offset(), behind + 512);
    assert!(!arena.stats().followed_plan);
    let refused = arena.allocate(4096).unwrap_err();
    let used = behind + 512 + 1024;
    let requested = 4096;
    assert_eq!(
        refused,
        GraphMemoryError::ArenaExhausted {
            requested,
            used,
            capacity: 4096,
            shortage: ArenaShortage::NotInPlan
        }
    );
    arena.reset();
    assert_eq!(arena.allocate(1000).unwrap().offset(), plan.offsets[0]);
    assert!(arena.stats().followed_plan);
}

#[test]
fn plans_that_cannot_be_followed() {
    let (problem, mut plan) = intervals();
    let followed = ArenaPlan::of_intervals(&problem, &plan).unwrap();
    let policy = ArenaPolicy::Planned(followed.clone());
    let (requested, capacity) = (followed.peak(), 1024);
    let refused = CudaArena::new(SyntheticMemory::new(), 1024, policy).err();
    assert_eq!(
        refused,
        Some(GraphMemoryError::ArenaExhausted {
            requested,
            used: 0,
            capacity,
            shortage: ArenaShortage::SmallerThanPlan
        })
    );

    plan.offsets[1] = plan.offsets[0];
    let refused = ArenaPlan::of_intervals(&problem, &plan);
    assert!(matches!(refused, Err(ArenaPlanError::Invalid(_))));
    plan.offsets.pop();
    assert!(ArenaPlan::of_intervals(&problem, &plan).is_err());

    let loose =
        IntervalProblem::new(vec![Buffer::new("a", 0, 2, 100), Buffer::new("b", 1, 2, 100)]);
    let loose = loose.unwrap();
    let plan = loose.solve(&Options::default()).unwrap();
    let refused = ArenaPlan::of_intervals(&loose, &plan).unwrap_err();
    assert!(matches!(refused, ArenaPlanError::Unaligned { offset: 100, .. }));
    assert!(refused.to_string().contains("100, which is not a multiple of 256"));
}
