//! Allocations that are refused in the middle of a forward: the error reports it, and the same pool
//! then encodes with the right result.

use pool_conformance::{Ledger, LedgeredBackend, LedgeredContext, Refusal};
use pool_encoder::{Batch, HeadsAtOnce, Host, Model, encode, tiny};
use pool_facade::{Cpu, DynamicPool, Pool, PoolBackend, PoolError};

use crate::golden;

type Watched = LedgeredBackend<Cpu>;

/// From the n-th allocation on, for n = 1, 2, 3 … until a forward passes. Also the n-th alone,
/// after which the pool frees idle blocks or returns an error.
#[test]
fn whichever_allocation_of_a_forward_is_refused_the_pool_goes_on() {
    let mut constants = DynamicPool::<Cpu>::new(());
    let batch = golden::batch(31);
    let model = Model::upload(&Host, tiny::CONFIGURATION, &tiny::Tiny, &mut constants).unwrap();
    let batch = Batch::upload(&batch, &mut constants).unwrap();
    let (constants, _) = constants.split();
    let (model, batch) = (model.views(&constants).unwrap(), batch.views(&constants).unwrap());
    let ledger = Ledger::new();
    let mut numbers = vec![0.0; batch.count * tiny::CONFIGURATION.hidden];
    let (mut refused, mut absorbed) = (0, 0);
    for refusal in [Refusal::From, Refusal::Once] {
        for nth in 0.. {
            // SAFETY: the views of `Cpu` are slices, which do not use their slot.
            let context = unsafe { LedgeredContext::new((), ledger.clone()) };
            let mut pool = Pool::<Watched>::new(context);
            let mut forward = |pool: &mut Pool<Watched>| {
                let to = &mut numbers.as_mut_slice();
                encode(&Host, HeadsAtOnce::One, pool.scope(), &model, &batch, to)
            };
            let before = ledger.refused();
            ledger.refuse(refusal(nth));
            let ended = forward(&mut pool);
            ledger.refuse(Refusal::Never);
            match &ended {
                Err(error) => {
                    refused += 1;
                    let error = error.downcast_ref::<PoolError<<Watched as PoolBackend>::Error>>();
                    assert!(matches!(error, Some(PoolError::OutOfMemory { .. })), "{error:?}");
                }
                Ok(()) => absorbed += usize::from(ledger.refused() > before),
            }
            forward(&mut pool).unwrap();
            assert!(golden::greatest_difference(&numbers) < golden::BOUND, "after {nth}");
            drop(pool);
            assert_eq!((ledger.live_blocks(), ledger.faults()), (0, vec![]), "after {nth}");
            if ledger.refused() == before {
                break;
            }
        }
    }
    // States; keys and values, queries, scores; and those of them that grow. After a single
    // refusal, idle blocks are freed.
    println!("{refused} refusals ended a forward, {absorbed} did not");
    assert!(refused >= 4 && absorbed >= 1, "{refused} and {absorbed}");
}
