//! Makes texts of files safe for a terminal. The names and frames in a log are foreign text, and a
//! terminal executes control characters.

use std::borrow::Cow;

/// Returns the text with a replacement for each character that a terminal would act on. These are
/// control characters, line ends, and characters that change the text direction.
pub(crate) fn printable(text: &str) -> String {
    text.replace(is_acted_upon, "\u{fffd}")
}

/// Returns the text truncated to `most` characters. A name in a file may be millions of characters
/// long.
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
