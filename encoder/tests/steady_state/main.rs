//! In steady state a forward on one thread asks the heap for nothing, and the pool holds what it held.

#![allow(clippy::unwrap_used, reason = "tests: a check that fails panics")]

#[path = "../../../crates/pool-facade/tests/zero_allocation/counting.rs"]
mod counting;

use counting::Calls;
use pool_encoder::{Batch, HeadsAtOnce, Host, Model, Sentences, encode, tiny};
use pool_facade::{Cpu, DynamicPool, Pool};

#[test]
fn a_forward_allocates_nothing() {
    let sentences = tiny::sentences(&[9, 64, 33]);
    let sentences = Sentences::new(&tiny::CONFIGURATION, 64, &sentences).unwrap();
    let mut constants = DynamicPool::<Cpu>::new(());
    let model = Model::upload(tiny::CONFIGURATION, &tiny::Tiny, &mut constants).unwrap();
    let batch = Batch::upload(&sentences, &mut constants).unwrap();
    let (constants, _) = constants.split();
    let (model, batch) = (model.views(&constants).unwrap(), batch.views(&constants).unwrap());
    let mut pool = Pool::<Cpu>::new(());
    let mut numbers = vec![0.0; sentences.count() * tiny::CONFIGURATION.hidden];
    let mut forward = |pool: &mut Pool<Cpu>| {
        let to = &mut numbers.as_mut_slice();
        encode(&Host, HeadsAtOnce::One, pool.scope(), &model, &batch, to).unwrap();
    };
    // The products' own memory comes with the first of them.
    forward(&mut pool);
    let (before, held) = (Calls::so_far(), pool.stats().reserved_bytes);
    (0..20).for_each(|_| forward(&mut pool));
    assert_eq!(Calls::since(before), Calls { allocations: 0, frees: 0 });
    assert_eq!(pool.stats().reserved_bytes, held);
}
