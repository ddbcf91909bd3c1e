//! The encoder on the host.

use pool_encoder::dry::stats_after;
use pool_encoder::{Batch, Configuration, HeadsAtOnce, Host, Model, Sentences, encode, tiny};
use pool_facade::{Cpu, DynamicPool, Pool, PoolConfig, Stacked};

use crate::any_backend::encoded;
use crate::{cases, golden, operations};

#[test]
fn each_operation_is_as_it_is_defined() {
    operations::as_defined::<Cpu, _>(&Host, || (), cases(20));
}

#[test]
fn as_the_other_program_says_however_the_sentences_are_filled_up() {
    for tokens in [31, 32, 47, 128] {
        for at_once in [HeadsAtOnce::One, HeadsAtOnce::All] {
            let answer =
                encoded::<Cpu, _>(&Host, || (), &golden::batch(tokens), at_once, 2).unwrap();
            let difference = golden::greatest_difference(&answer.numbers);
            assert!(difference < golden::BOUND, "{tokens} {at_once:?}: {difference:e}");
        }
    }
}

#[test]
fn a_stack_encodes_the_same_numbers_in_the_bytes_that_are_in_use_at_once() {
    for tokens in [31, 64] {
        for at_once in [HeadsAtOnce::One, HeadsAtOnce::All] {
            let batch = golden::batch(tokens);
            let stacked = encoded::<Stacked<Cpu>, _>(&Host, || (), &batch, at_once, 3).unwrap();
            let slots = encoded::<Cpu, _>(&Host, || (), &batch, at_once, 1).unwrap();
            assert_eq!(stacked.numbers, slots.numbers, "{tokens} {at_once:?}");
            let live = peak_live_bytes(&batch, at_once);
            let most = live * 105 / 100;
            assert!(stacked.bytes <= most, "{tokens} {at_once:?}: {} of {live}", stacked.bytes);
        }
    }
}

/// Runs with the sizes of all-MiniLM-L6-v2 and operations that compute nothing.
#[test]
fn a_stack_of_minilms_sizes_holds_the_bytes_that_are_in_use_at_once() {
    for (tokens, at_once) in
        [(16, HeadsAtOnce::One), (128, HeadsAtOnce::One), (64, HeadsAtOnce::All)]
    {
        let count = PoolConfig::new().measure_live_bytes(true);
        let slots = stats_after::<Cpu>([(), ()], count, at_once, (8, tokens), 1).unwrap();
        let stacked =
            stats_after::<Stacked<Cpu>>([(), ()], PoolConfig::new(), at_once, (8, tokens), 3);
        let (held, live) = (stacked.unwrap().reserved_bytes, slots.peak_live_bytes.unwrap());
        assert!(held >= live && held * 100 <= live * 105, "{tokens} {at_once:?}: {held} of {live}");
    }
}

/// The most bytes of temporaries that are in use at once, as a pool with slots counts them.
fn peak_live_bytes(sentences: &Sentences, at_once: HeadsAtOnce) -> usize {
    let mut constants = DynamicPool::<Cpu>::new(());
    let model = Model::upload(&Host, tiny::CONFIGURATION, &tiny::Tiny, &mut constants).unwrap();
    let batch = Batch::upload(sentences, &mut constants).unwrap();
    let (constants, _) = constants.split();
    let (model, batch) = (model.views(&constants).unwrap(), batch.views(&constants).unwrap());
    let mut to = vec![0.0; sentences.count() * tiny::CONFIGURATION.hidden];
    let config = PoolConfig::new().measure_live_bytes(true);
    let mut pool = Pool::<Cpu>::with_config((), config).unwrap();
    encode(&Host, at_once, pool.scope(), &model, &batch, &mut to.as_mut_slice()).unwrap();
    pool.stats().peak_live_bytes.unwrap()
}

/// With one head at a time, the peak of live bytes is while a token's inner numbers are live: states, inner numbers and
/// update. The pool holds these, and the scores of one head.
#[test]
fn the_pool_holds_hardly_more_than_is_in_use_at_once() {
    for (tokens, count) in [(31, 6), (32, 6), (128, 6)] {
        let Configuration { hidden, inner, .. } = tiny::CONFIGURATION;
        let bound = tokens * count * (hidden + inner + hidden) * size_of::<f32>();
        let batch = golden::batch(tokens);
        let held = encoded::<Cpu, _>(&Host, || (), &batch, HeadsAtOnce::One, 2).unwrap().bytes;
        assert!(held >= bound && held * 100 <= bound * 108, "{tokens}: {held} of {bound}");
    }
}
