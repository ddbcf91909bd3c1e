//! The amount of text that one pass encodes, and the number of passes. A shape takes a few minutes
//! at most.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The number of sentences in a pass, their length, and the number of passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(super) sentences: usize,
    /// The number of tokens in the longest sentence.
    pub(super) tokens: usize,
    pub(super) turns: usize,
    /// The number of forward passes in each round.
    pub(super) forwards: usize,
}

const SHAPES: [Shape; 5] = [
    Shape { sentences: 1, tokens: 16, turns: 20, forwards: 10 },
    Shape { sentences: 1, tokens: 128, turns: 20, forwards: 4 },
    Shape { sentences: 8, tokens: 128, turns: 20, forwards: 1 },
    Shape { sentences: 32, tokens: 64, turns: 20, forwards: 1 },
    Shape { sentences: 32, tokens: 256, turns: 8, forwards: 1 },
];

/// A text that is not the name of a shape.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{given:?} is not a measured shape; the shapes are {known}", known = known())]
pub(crate) struct UnknownShape {
    given: String,
}

/// Returns the requested shapes, or all shapes if none was requested.
pub(super) fn chosen(asked: &[Shape]) -> impl Iterator<Item = Shape> {
    SHAPES.into_iter().filter(move |shape| asked.is_empty() || asked.contains(shape))
}

/// Returns the names of all shapes.
fn known() -> String {
    SHAPES.map(Shape::name).join(", ")
}

impl Shape {
    /// Returns the name that the command line accepts.
    fn name(self) -> String {
        format!("{}x{}", self.sentences, self.tokens)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} × {}", self.sentences, self.tokens)
    }
}

impl FromStr for Shape {
    type Err = UnknownShape;

    fn from_str(given: &str) -> Result<Self, UnknownShape> {
        let unknown = || UnknownShape { given: given.to_owned() };
        SHAPES.into_iter().find(|shape| shape.name() == given).ok_or_else(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::{SHAPES, Shape, UnknownShape, chosen};

    #[test]
    fn every_shape_is_measured() {
        assert!(SHAPES.iter().all(|shape| shape.turns * shape.forwards > 0 && shape.sentences > 0));
    }

    #[test]
    fn a_shape_is_found_by_its_name() {
        for shape in SHAPES {
            assert_eq!(shape.name().parse(), Ok(shape));
        }
        assert_eq!("8x128".parse(), Ok(SHAPES[2]));
    }

    #[test]
    fn a_shape_that_is_none_is_refused_and_all_are_named() {
        for given in ["8x127", "128x8", "8 x 128", "8", "08x128", ""] {
            let refusal = given.parse::<Shape>().unwrap_err();
            assert_eq!(refusal, UnknownShape { given: given.to_owned() });
            let text = refusal.to_string();
            assert!(text.starts_with(&format!("{given:?} ")), "{text}");
            assert!(text.ends_with("1x16, 1x128, 8x128, 32x64, 32x256"), "{text}");
        }
    }

    #[test]
    fn each_shape_that_was_asked_for_is_measured_once() {
        assert_eq!(chosen(&[]).collect::<Vec<_>>(), SHAPES);
        let asked = [SHAPES[3], SHAPES[0], SHAPES[3]];
        assert_eq!(chosen(&asked).collect::<Vec<_>>(), [SHAPES[0], SHAPES[3]]);
    }
}
