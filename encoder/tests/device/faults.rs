//! Memory that a device refuses in the middle of a forward: the error reports it, and the same pool
//! then encodes with the right result.

use cuda_sim_control::Simulator;
use pool_encoder::{Batch, HeadsAtOnce, Model, OnCuda, encode, tiny};
use pool_facade::pool_cuda::CudaError;
use pool_facade::{Cuda, DynamicPool, Pool, PoolError, PoolView};

use crate::{contexts, require_device};

/// The call by which pools of a device with memory pools allocate.
const ALLOCATE: &str = "cuMemAllocFromPoolAsync";
/// `CUDA_ERROR_OUT_OF_MEMORY`.
const OUT_OF_MEMORY: u32 = 2;

#[test]
#[ignore = "needs a CUDA device"]
fn whichever_allocation_of_a_forward_is_refused_the_pool_goes_on() {
    let (_present, device) = require_device();
    let Some(simulator) = Simulator::attach() else {
        return println!("SKIPPED: hardware cannot refuse a numbered allocation");
    };
    let (kernels, context) = (OnCuda::new(&device).unwrap(), contexts(&device));
    let sentences = tiny::sentences(&[5, 7]);
    let sentences = pool_encoder::Sentences::new(&tiny::SMALLER, 8, &sentences).unwrap();
    let mut constants = DynamicPool::<Cuda>::new(context());
    let model = Model::upload(&kernels, tiny::SMALLER, &tiny::Tiny, &mut constants).unwrap();
    let batch = Batch::upload(&sentences, &mut constants).unwrap();
    let (constants, scope) = constants.split();
    let (model, batch) = (model.views(&constants).unwrap(), batch.views(&constants).unwrap());
    let mut to = scope.acquire::<f32, _>(2 * tiny::SMALLER.hidden);
    let mut forward = |pool: &mut Pool<Cuda>| {
        let at_once = HeadsAtOnce::All;
        encode(&kernels, at_once, pool.scope(), &model, &batch, &mut to.reborrow())?;
        to.copy_to_vec().map_err(pool_encoder::Failure::from)
    };
    let right = forward(&mut Pool::new(context())).unwrap();
    let (mut refused, mut absorbed) = (0, 0);
    for calls in [1, 9] {
        for nth in 1.. {
            let mut pool = Pool::<Cuda>::new(context());
            simulator.forget_calls();
            // The pool allocates again, a smaller block and with its idle blocks freed.
            (nth..nth + calls).for_each(|nth| simulator.fail_call(ALLOCATE, nth, OUT_OF_MEMORY));
            let ended = forward(&mut pool);
            let asked = simulator.calls(ALLOCATE);
            simulator.forget_failures();
            match &ended {
                Err(error) => {
                    refused += 1;
                    let error = error.downcast_ref::<PoolError<CudaError>>();
                    assert!(matches!(error, Some(PoolError::OutOfMemory { .. })), "{error:?}");
                }
                Ok(numbers) => {
                    absorbed += 1;
                    assert_eq!(numbers, &right);
                }
            }
            assert_eq!(forward(&mut pool).unwrap(), right, "after the {nth}th");
            if asked < nth {
                break;
            }
        }
    }
    println!("FIGURE: {refused} refusals ended a forward, {} did not", absorbed - 2);
    // States; keys and values, queries, scores; and those of them that grow.
    assert!(refused >= 4 && absorbed > 4, "{refused} and {absorbed}");
    simulator.assert_clean();
}
