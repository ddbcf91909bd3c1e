//! The results of `golden.py`, and the allowed error of others.

use pool_encoder::{Sentences, tiny};

/// The maximum error of a 32-bit number: rounding in some hundred sums of some hundred terms, of
/// unit vectors.
pub(crate) const BOUND: f32 = 1e-5;

/// A sentence, and its encoding.
pub(crate) struct Answer {
    pub(crate) words: Vec<u32>,
    pub(crate) numbers: Vec<f32>,
}

/// Returns all sentences with their encodings.
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

/// Returns all of them as one batch, filled up to `tokens` tokens.
pub(crate) fn batch(tokens: usize) -> Sentences {
    let sentences: Vec<_> = answers().into_iter().map(|answer| answer.words).collect();
    Sentences::new(&tiny::CONFIGURATION, tokens, &sentences).unwrap()
}

/// Returns the largest difference between a backend's result for [`batch`] and the right one.
pub(crate) fn greatest_difference(numbers: &[f32]) -> f32 {
    let right: Vec<_> = answers().into_iter().flat_map(|answer| answer.numbers).collect();
    assert_eq!(numbers.len(), right.len());
    // A difference that is NaN counts as larger than all others.
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
