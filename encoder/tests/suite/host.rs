//! The encoder on the host.

use pool_encoder::{HeadsAtOnce, Host};
use pool_facade::Cpu;

use crate::any_backend::encoded;
use crate::golden;

#[test]
fn as_the_other_program_says_however_the_sentences_are_filled_up() {
    for tokens in [31, 32, 47, 128] {
        for at_once in [HeadsAtOnce::One, HeadsAtOnce::All] {
            let answer = encoded::<Cpu, _>(&Host, || (), &golden::batch(tokens), at_once, 2).unwrap();
            let difference = golden::greatest_difference(&answer.numbers);
            assert!(difference < golden::BOUND, "{tokens} {at_once:?}: {difference:e}");
        }
    }
}
