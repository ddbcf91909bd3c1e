//! The encoder on wgpu, where there is an adapter.

use pool_encoder::{HeadsAtOnce, OnWgpu};
use pool_wgpu::{Stream, Wgpu};

use crate::any_backend::encoded;
use crate::golden;

#[test]
fn as_the_other_program_says() {
    let stream = match Stream::open() {
        Ok(stream) => stream,
        Err(why) => return println!("SKIPPED: {why}"),
    };
    let kernels = OnWgpu::new(&stream).unwrap();
    for (tokens, at_once) in [(31, HeadsAtOnce::All), (48, HeadsAtOnce::One)] {
        let batch = golden::batch(tokens);
        let answer = encoded::<Wgpu, _>(&kernels, || stream.clone(), &batch, at_once, 2).unwrap();
        let difference = golden::greatest_difference(&answer.numbers);
        assert!(difference < golden::BOUND, "{tokens} {at_once:?}: {difference:e}");
    }
}
