//! What files say, made fit for a terminal: names and frames of a log are somebody else's text, and a terminal does what
//! control characters tell it.

use std::borrow::Cow;

/// The text with a sign in place of each character that a terminal would act upon: control characters, ends of lines, and
/// those that turn the direction of what follows.
pub(crate) fn printable(text: &str) -> String {
    text.replace(is_acted_upon, "\u{fffd}")
}

/// The beginning of a text that is longer than so many characters: names in a file may have millions.
pub(crate) fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

fn is_acted_upon(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

#[cfg(test)]
mod tests {
    use super::{printable, shortened};

    #[test]
    fn long_texts_end_early() {
        assert_eq!(shortened("漢字🦀", 3), "漢字🦀");
        assert_eq!(shortened("漢字🦀", 2), "漢字…");
    }

    #[test]
    fn letters_stay_and_commands_go() {
        let stays = "fn f<T>(\u{e9}, 漢字, 🦀) \u{fffd}";
        assert_eq!(printable(stays), stays);
        assert_eq!(
            printable("\u{1b}[2J\u{9b}31m\r\n\u{202e}gnp\u{2066}\u{7f}"),
            "�[2J�31m���gnp��"
        );
    }
}
