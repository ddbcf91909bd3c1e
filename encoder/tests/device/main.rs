//! The encoder on whatever device there is: hardware under `cargo xtask gpu-test`, the simulated driver under
//! `cargo xtask sim-test`.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    dead_code,
    reason = "tests: a check that fails panics; and what the other backends' tests have is theirs, too"
)]

#[path = "../suite/any_backend.rs"]
mod any_backend;
#[path = "../suite/golden.rs"]
mod golden;

use any_backend::encoded;
use driver_conformance::driver::Device;
use pool_encoder::{HeadsAtOnce, Ladder, OnCuda, tiny};
use pool_facade::Cuda;
use pool_facade::pool_cuda::{CudaDevice, DeviceStream};
use std::sync::Arc;

/// The device, opened for a test that is no question.
fn require_device() -> (Device, CudaDevice) {
    let present = driver_conformance::open().unwrap_or_else(|why| panic!("GPU REQUIRED: {why}"));
    (present, Cuda::device(0).unwrap())
}

#[test]
#[ignore = "needs a CUDA device"]
fn as_the_other_program_says() {
    let (_present, device) = require_device();
    let kernels = OnCuda::new(&device).unwrap();
    let stream = device.context().new_stream().unwrap();
    let stream = || DeviceStream::given(Arc::clone(&stream)).unwrap();
    for at_once in [HeadsAtOnce::All, HeadsAtOnce::One] {
        let batch = golden::batch(31);
        let answer = encoded::<Cuda, _>(&kernels, &stream, &batch, at_once, 2).unwrap();
        let difference = golden::greatest_difference(&answer.numbers);
        assert!(difference < golden::BOUND, "{at_once:?}: {difference:e}");
    }
}

/// Times that each graph is replayed, unless `POOL_ENCODER_REPLAYS` says so.
const REPLAYS: usize = 3;

#[test]
#[ignore = "needs a CUDA device"]
fn a_ladder_of_graphs_gives_the_same_bits_in_the_memory_of_the_largest() {
    let (_present, device) = require_device();
    let tokens = [16, 32, 64, 128];
    let mut ladder = Ladder::new(&device, tiny::CONFIGURATION, &tiny::Tiny, 2, &tokens).unwrap();
    let needs: Vec<_> = ladder.footprints().collect();
    assert_eq!(needs.iter().map(|(tokens, _)| *tokens).collect::<Vec<_>>(), [128, 64, 32, 16]);
    let largest = needs.iter().map(|(_, footprint)| footprint.peak).max();
    assert_eq!(Some(ladder.arena_bytes()), largest);

    let given = std::env::var("POOL_ENCODER_REPLAYS").ok();
    let replays = given.map_or(REPLAYS, |count| count.parse().unwrap());
    let kernels = OnCuda::new(&device).unwrap();
    let stream = device.context().new_stream().unwrap();
    let stream = || DeviceStream::given(Arc::clone(&stream)).unwrap();
    for replay in 0..replays {
        for tokens in tokens {
            let lengths = [tokens - replay % 5, 1 + (replay * 7) % tokens];
            let sentences = tiny::sentences(&lengths);
            let replayed = ladder.encode(&sentences).unwrap();
            let filled =
                pool_encoder::Sentences::new(&tiny::CONFIGURATION, tokens, &sentences).unwrap();
            let eager =
                encoded::<Cuda, _>(&kernels, &stream, &filled, HeadsAtOnce::All, 1).unwrap();
            let bits = |numbers: &[f32]| numbers.iter().map(|n| n.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&replayed), bits(&eager.numbers), "{lengths:?} of {tokens}");
        }
    }
}
