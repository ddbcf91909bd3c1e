//! The encoder on wgpu, if there is an adapter.

use pool_encoder::{HeadsAtOnce, OnWgpu};
use pool_wgpu::{Stream, Wgpu};

use crate::any_backend::encoded;
use crate::{cases, golden, operations};

fn stream() -> Option<Stream> {
    Stream::open().inspect_err(|why| println!("SKIPPED: {why}")).ok()
}

#[test]
fn each_operation_is_as_it_is_defined() {
    let Some(stream) = stream() else { return };
    let kernels = OnWgpu::new(&stream).unwrap();
    operations::as_defined::<Wgpu, _>(&kernels, || stream.clone(), cases(200));
}

#[test]
fn as_the_other_program_says() {
    let Some(stream) = stream() else { return };
    let kernels = OnWgpu::new(&stream).unwrap();
    for (tokens, at_once) in [(31, HeadsAtOnce::All), (48, HeadsAtOnce::One)] {
        let batch = golden::batch(tokens);
        let answer = encoded::<Wgpu, _>(&kernels, || stream.clone(), &batch, at_once, 2).unwrap();
        let difference = golden::greatest_difference(&answer.numbers);
        assert!(difference < golden::BOUND, "{tokens} {at_once:?}: {difference:e}");
    }
}
