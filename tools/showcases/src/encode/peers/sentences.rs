//! Creates sentences of different lengths from a single text, as token numbers of the model.

use std::fmt::Write;

use tasks::TaskError;

/// Parses the tokens that a program prints, one on each line, including those that begin and end a
/// sentence.
pub(super) fn parse(printed: &[u8]) -> Result<Vec<u32>, TaskError> {
    let words = std::str::from_utf8(printed)?.lines().map(str::parse);
    Ok(words.collect::<Result<Vec<u32>, _>>()?)
}

/// Returns `count` sentences from the text, one on each line, and starts again at the beginning of
/// the text if necessary. The first has `tokens` tokens. The others have fewer, but more than half,
/// so they are padded. The padding must have no effect.
pub(super) fn of(text: &[u32], count: usize, tokens: usize) -> Result<String, TaskError> {
    let [first, words @ .., last] = text else { return Err("the text has no words".into()) };
    if words.is_empty() || tokens < 4 {
        return Err(format!(
            "{} words are not enough for sentences of {tokens} tokens",
            words.len()
        )
        .into());
    }
    let mut words = words.iter().cycle();
    let mut sentences = String::new();
    for sentence in 0..count {
        let length = tokens - sentence * STEP % (tokens / 2);
        write!(sentences, "{first}")?;
        for word in words.by_ref().take(length - 2) {
            write!(sentences, " {word}")?;
        }
        writeln!(sentences, " {last}")?;
    }
    Ok(sentences)
}

/// How many tokens fewer the next sentence has.
const STEP: usize = 5;

#[cfg(test)]
mod tests {
    use super::{of, parse};

    #[test]
    fn sentences_begin_and_end_and_go_on_where_the_last_one_stopped() {
        let text = parse(b"101\n1\n2\n3\n4\n5\n102\n").unwrap();
        assert_eq!(of(&text, 2, 6).unwrap(), "101 1 2 3 4 102\n101 5 1 102\n");
        assert!(parse(b"101\nwarning\n").is_err());
    }

    #[test]
    fn the_first_is_the_longest_and_none_is_half_as_long() {
        let text: Vec<u32> = (0..99).collect();
        let sentences = of(&text, 32, 64).unwrap();
        let lengths: Vec<usize> = sentences.lines().map(|line| line.split(' ').count()).collect();
        assert_eq!((lengths.len(), lengths[0]), (32, 64));
        assert!(lengths.iter().all(|length| (33..=64).contains(length)), "{lengths:?}");
        assert!(lengths[1..].iter().any(|length| *length < 60), "{lengths:?}");
    }

    #[test]
    fn without_words_there_are_no_sentences() {
        assert!(of(&[], 1, 16).is_err());
        assert!(of(&[101, 102], 1, 16).is_err());
        assert!(of(&[101, 7, 102], 1, 3).is_err());
    }
}
