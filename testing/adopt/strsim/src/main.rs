//! Distances between words: temporaries with `Drop`. `sorensen_dice` makes two strings and a map, and
//! `generic_damerau_levenshtein` a map whose keys are the user's, here strings; the others make vectors of numbers.

use std::process::ExitCode;

use adoption_measure::{Case, run};

/// A word and a similar one, and two texts of repeated letters.
fn texts() -> [(String, String); 2] {
    let letters = |step: u32| -> String {
        (0..300_u32).filter_map(|i| char::from_u32(u32::from(b'a') + i * step % 26)).collect()
    };
    [("kitten sitting".to_owned(), "sitting kitten".to_owned()), (letters(7), letters(11))]
}

macro_rules! case {
    ($function:ident, $bits:expr) => {
        texts().map(|(a, b)| {
            let (c, d) = (a.clone(), b.clone());
            Case::new(format!("{}, {} letters", stringify!($function), a.len()))
                .version("original", move || original::$function(&a, &b), $bits)
                .version("pool", move || pool::$function(&c, &d), $bits)
        })
    };
}

/// Words as elements, so that the keys of the map are strings.
fn of_words() -> Case<'static> {
    let words = |text: &str| text.chars().map(|letter| letter.to_string()).collect::<Vec<_>>();
    let [_, (a, b)] = texts();
    let (a, b) = (words(&a), words(&b));
    let (c, d) = (a.clone(), b.clone());
    let bits = |distance: &usize| vec![*distance as u64];
    Case::new("generic_damerau_levenshtein, 300 strings")
        .version("original", move || original::generic_damerau_levenshtein(&a, &b), bits)
        .version("pool", move || pool::generic_damerau_levenshtein(&c, &d), bits)
}

fn main() -> ExitCode {
    let of_float = |similarity: &f64| vec![similarity.to_bits()];
    let of_count = |distance: &usize| vec![*distance as u64];
    let cases = [
        case!(sorensen_dice, of_float),
        case!(levenshtein, of_count),
        case!(osa_distance, of_count),
        case!(damerau_levenshtein, of_count),
        case!(jaro, of_float),
    ];
    run(cases.into_iter().flatten().chain([of_words()]).collect())
}
