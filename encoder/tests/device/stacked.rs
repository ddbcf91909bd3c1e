//! The encoder in stacks of device memory. The results equal those of slots, and the held bytes equal the live peak.

use cuda_sim_control::Simulator;
use pool_encoder::dry::stats_after;
use pool_encoder::{HeadsAtOnce, OnCuda, Sentences, tiny};
use pool_facade::{Cpu, Cuda, PoolConfig, Stacked};

use crate::any_backend::encoded_by;
use crate::{contexts, require_device};

#[test]
#[ignore = "needs a CUDA device"]
fn a_stack_encodes_the_same_bits() {
    let (_present, device) = require_device();
    let (kernels, context) = (OnCuda::new(&device).unwrap(), contexts(&device));
    let sentences = tiny::sentences(&[5, 7, 3]);
    for at_once in [HeadsAtOnce::One, HeadsAtOnce::All] {
        let batch = Sentences::new(&tiny::SMALLER, 8, &sentences).unwrap();
        let sizes = tiny::SMALLER;
        let slots = encoded_by::<Cuda, _>(sizes, &kernels, &context, &batch, at_once, 1);
        let stack = encoded_by::<Stacked<Cuda>, _>(sizes, &kernels, &context, &batch, at_once, 3);
        let bits = |numbers: Vec<f32>| numbers.into_iter().map(f32::to_bits).collect::<Vec<_>>();
        assert_eq!(bits(stack.unwrap().numbers), bits(slots.unwrap().numbers), "{at_once:?}");
    }
    if let Some(simulator) = Simulator::attach() {
        simulator.assert_clean();
    }
}

/// Runs with the sizes of all-MiniLM-L6-v2 and operations that compute nothing.
#[test]
#[ignore = "needs a CUDA device"]
fn a_stack_of_minilms_sizes_holds_the_bytes_that_are_in_use_at_once() {
    let (_present, device) = require_device();
    let context = contexts(&device);
    for (tokens, at_once) in
        [(16, HeadsAtOnce::One), (128, HeadsAtOnce::One), (64, HeadsAtOnce::All)]
    {
        let count = PoolConfig::new().measure_live_bytes(true);
        let slots = stats_after::<Cpu>([(), ()], count, at_once, (8, tokens), 1).unwrap();
        let stack = stats_after::<Stacked<Cuda>>(
            [context(), context()],
            PoolConfig::new(),
            at_once,
            (8, tokens),
            3,
        );
        let (held, live) = (stack.unwrap().reserved_bytes, slots.peak_live_bytes.unwrap());
        assert!(held >= live && held * 100 <= live * 105, "{tokens} {at_once:?}: {held} of {live}");
        println!(
            "FIGURE: {tokens} tokens, {at_once:?}: {held} bytes held for {live} in use at once"
        );
    }
}
