//! The encoder on the host.

use pool_encoder::{Configuration, HeadsAtOnce, Host, tiny};
use pool_facade::Cpu;

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

/// With one head at a time, what is in use at once is most when a token's inner numbers are: states, inner numbers and
/// update. The pool holds that, and the scores of one head.
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
