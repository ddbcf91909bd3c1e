//! The encoder on the host.

use pool_encoder::{Batch, HeadsAtOnce, Host, Model, Sentences, encode, tiny};
use pool_facade::{Cpu, DynamicPool, Pool};

use crate::golden;

/// A model and sentences in the memory of the host, encoded so many times; the last answer, and the bytes of the pool.
fn encoded(sentences: &Sentences, at_once: HeadsAtOnce, times: usize) -> (Vec<f32>, usize) {
    let mut constants = DynamicPool::<Cpu>::new(());
    let model = Model::upload(tiny::CONFIGURATION, &tiny::Tiny, &mut constants).unwrap();
    let batch = Batch::upload(sentences, &mut constants).unwrap();
    let (constants, _) = constants.split();
    let (model, batch) = (model.views(&constants).unwrap(), batch.views(&constants).unwrap());
    let mut pool = Pool::<Cpu>::new(());
    let mut answer = vec![0.0; sentences.count() * tiny::CONFIGURATION.hidden];
    for _ in 0..times {
        encode(&Host, at_once, pool.scope(), &model, &batch, &mut answer.as_mut_slice()).unwrap();
    }
    (answer, pool.stats().reserved_bytes)
}

#[test]
fn as_the_other_program_says_however_the_sentences_are_filled_up() {
    for tokens in [31, 32, 47, 128] {
        for at_once in [HeadsAtOnce::One, HeadsAtOnce::All] {
            let (answer, _) = encoded(&golden::batch(tokens), at_once, 2);
            let difference = golden::greatest_difference(&answer);
            assert!(difference < golden::BOUND, "{tokens} {at_once:?}: {difference:e}");
        }
    }
}
