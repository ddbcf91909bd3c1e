//! The answers of `golden.py`, and how far others may be from them.

use pool_encoder::{Sentences, tiny};

/// The most that a number of 32 bits may be off: rounding in some hundred sums of some hundred terms, of unit vectors.
pub(crate) const BOUND: f32 = 1e-5;

/// A sentence, and what it is encoded into.
pub(crate) struct Answer {
    pub(crate) words: Vec<u32>,
    pub(crate) numbers: Vec<f32>,
}

/// All sentences that are answered.
pub(crate) fn answers() -> Vec<Answer> {
    include_str!("../golden.tsv").lines().map(answer).collect()
}

fn answer(line: &str) -> Answer {
    let (words, numbers) = line.split_once('\t').unwrap();
    Answer {
        words: words.split(' ').map(|word| word.parse().unwrap()).collect(),
        numbers: numbers.split(' ').map(|number| number.parse().unwrap()).collect(),
    }
}

/// All of them as one batch, filled up to so many tokens.
pub(crate) fn batch(tokens: usize) -> Sentences {
    let sentences: Vec<_> = answers().into_iter().map(|answer| answer.words).collect();
    Sentences::new(&tiny::CONFIGURATION, tokens, &sentences).unwrap()
}

/// The largest difference between what a backend answered for [`batch`] and what is right.
pub(crate) fn greatest_difference(numbers: &[f32]) -> f32 {
    let right: Vec<_> = answers().into_iter().flat_map(|answer| answer.numbers).collect();
    assert_eq!(numbers.len(), right.len());
    // A difference that is no number is above all others.
    numbers
        .iter()
        .zip(&right)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, |a, b| if b <= a { a } else { b })
}

#[test]
fn the_sentences_are_those_of_the_other_program() {
    let answers = answers();
    let lengths: Vec<_> = answers.iter().map(|answer| answer.words.len()).collect();
    let words: Vec<_> = answers.into_iter().map(|answer| answer.words).collect();
    assert_eq!(tiny::sentences(&lengths), words);
    assert_eq!(lengths, [1, 2, 7, 16, 13, 31]);
}
