//! In steady state a forward on one thread requests nothing from the heap, causes no page fault,
//! and the pool's memory stays the same.

#![allow(clippy::unwrap_used, reason = "a failing test panics")]

#[path = "../../../benches/src/harness/clock.rs"]
#[allow(dead_code, unreachable_pub, reason = "a library exports it, including the times")]
mod clock;
#[path = "../../../crates/pool-facade/tests/zero_allocation/counting.rs"]
mod counting;

use counting::Calls;
use pool_encoder::{Batch, HeadsAtOnce, Host, Model, Sentences, encode, tiny};
use pool_facade::{Cpu, DynamicPool, Pool};

/// The needs of forwards of one pool.
#[derive(Debug, PartialEq, Eq)]
struct Needs {
    calls: Calls,
    /// `None` if the system does not count them by thread.
    faults: Option<u64>,
    /// The growth of the pool, in bytes.
    bytes: usize,
}

/// Returns the needs of `forwards` forwards after the first few; `between` runs after each.
fn needs(forwards: usize, mut between: impl FnMut()) -> Needs {
    let sentences = tiny::sentences(&[9, 64, 33]);
    let sentences = Sentences::new(&tiny::CONFIGURATION, 64, &sentences).unwrap();
    let mut constants = DynamicPool::<Cpu>::new(());
    let model = Model::upload(&Host, tiny::CONFIGURATION, &tiny::Tiny, &mut constants).unwrap();
    let batch = Batch::upload(&sentences, &mut constants).unwrap();
    let (constants, _) = constants.split();
    let (model, batch) = (model.views(&constants).unwrap(), batch.views(&constants).unwrap());
    let mut pool = Pool::<Cpu>::new(());
    let mut numbers = vec![0.0; sentences.count() * tiny::CONFIGURATION.hidden];
    let mut forward = |pool: &mut Pool<Cpu>| {
        let to = &mut numbers.as_mut_slice();
        encode(&Host, HeadsAtOnce::One, pool.scope(), &model, &batch, to).unwrap();
        between();
    };
    // The products' own memory, and all other first uses, come with these.
    (0..5).for_each(|_| forward(&mut pool));
    let (calls, held) = (Calls::so_far(), pool.stats().reserved_bytes);
    let faults = clock::minor_faults();
    (0..forwards).for_each(|_| forward(&mut pool));
    Needs {
        faults: clock::minor_faults().zip(faults).map(|(after, before)| after - before),
        calls: Calls::since(calls),
        bytes: pool.stats().reserved_bytes - held,
    }
}

const NOTHING: Calls = Calls { allocations: 0, frees: 0 };

#[test]
fn a_forward_allocates_nothing_and_faults_no_page() {
    let needs = needs(200, || {});
    println!("FIGURE: 200 forwards in steady state: {needs:?}");
    if needs.faults.is_none() {
        println!("SKIPPED: this system does not count a thread's page faults");
    }
    assert_eq!(needs, Needs { calls: NOTHING, faults: needs.faults.map(|_| 0), bytes: 0 });
}

/// The two counts detect their faults: a block each time, large enough for the system to take it back.
#[test]
fn a_new_block_for_each_forward_would_be_seen() {
    let needs = needs(20, || drop(std::hint::black_box(vec![1_u8; 64 << 20])));
    assert_eq!(needs.calls, Calls { allocations: 20, frees: 20 });
    assert!(needs.faults.is_none_or(|faults| faults >= 20), "{needs:?}");
}
