//! Extracts the prose of a file: blocks of text without code, split into sentences.
//!
//! Comments in Rust sources are read as Markdown. A comment is a sequence of lines that begin with
//! the same marker: `///`, `//!` or `//`. Comments that follow code on the same line, and block
//! comments, are not read.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// A comment or a whole document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Passage {
    /// The number of the line on which the passage begins, counted from 1.
    first_line: usize,
    /// The text without comment markers. Each line of the source is one line of the text.
    markdown: String,
    /// `true` if the passage documents an item or a module.
    pub(super) is_documentation: bool,
}

/// A paragraph, a heading, a list item or a table cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Block {
    /// The text. Each code span is replaced by the word [`CODE`].
    text: String,
    /// Pairs of an offset in `text` and the source line that begins at this offset.
    lines: Vec<(usize, usize)>,
    /// `true` for a list item or a part of a list item.
    pub(super) is_item: bool,
}

/// A sentence, and the line on which it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sentence<'b> {
    pub(super) text: &'b str,
    pub(super) line: usize,
}

/// The word that replaces a code span.
const CODE: &str = "`…`";

/// Abbreviations whose full stop does not end a sentence.
const ABBREVIATIONS: [&str; 4] = ["e.g.", "i.e.", "cf.", "vs."];

/// Characters that may be between the full stop of a sentence and the following space.
const CLOSING: [char; 6] = [')', ']', '"', '”', '*', '\''];

/// Returns a whole document as one passage.
pub(super) fn document(text: &str) -> Passage {
    Passage { first_line: 1, markdown: text.to_owned(), is_documentation: false }
}

/// Returns the comments in a Rust source. The comment `// Layering:` contains data and is left out.
pub(super) fn comments(source: &str) -> Vec<Passage> {
    let mut passages: Vec<Passage> = Vec::new();
    let mut open = None;
    for (number, line) in (1..).zip(source.lines()) {
        let Some((mark, text)) = comment(line.trim_start()) else {
            open = None;
            continue;
        };
        if open != Some(mark) {
            open = Some(mark);
            let is_documentation = mark != "//";
            passages.push(Passage {
                first_line: number,
                markdown: String::new(),
                is_documentation,
            });
        }
        if let Some(passage) = passages.last_mut() {
            passage.markdown.push_str(text);
            passage.markdown.push('\n');
        }
    }
    passages.retain(|passage| !passage.markdown.starts_with("Layering:"));
    passages
}

/// Returns the marker and the text of a line that is a comment.
fn comment(line: &str) -> Option<(&'static str, &str)> {
    let mark = ["///", "//!", "//"].into_iter().find(|mark| line.starts_with(mark))?;
    let text = &line[mark.len()..];
    // `////` is a separator line, and `//~` an annotation in a test of compiler errors.
    if text.starts_with(['/', '~']) {
        return None;
    }
    Some((mark, text.strip_prefix(' ').unwrap_or(text)))
}

impl Passage {
    /// Returns the blocks in order, without code blocks, quotations and HTML.
    pub(super) fn blocks(&self) -> Vec<Block> {
        let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES;
        let (mut blocks, mut block) = (Vec::new(), Block::default());
        let (mut hidden, mut items) = (0_usize, 0_usize);
        let (mut offset, mut line) = (0, self.first_line);
        for (event, range) in Parser::new_ext(&self.markdown, options).into_offset_iter() {
            if range.start > offset {
                line += self.markdown[offset..range.start].matches('\n').count();
                offset = range.start;
            }
            match event {
                Event::Start(Tag::CodeBlock(_) | Tag::BlockQuote(_) | Tag::HtmlBlock) => {
                    hidden += 1;
                }
                Event::End(TagEnd::CodeBlock | TagEnd::BlockQuote(_) | TagEnd::HtmlBlock) => {
                    hidden -= 1;
                }
                Event::Start(Tag::Item) => {
                    items += 1;
                    block.flush_into(&mut blocks, true);
                }
                Event::End(TagEnd::Item) => {
                    items -= 1;
                    block.flush_into(&mut blocks, items > 0);
                }
                Event::Start(Tag::Paragraph | Tag::Heading { .. } | Tag::TableCell) => {
                    block.flush_into(&mut blocks, items > 0);
                }
                Event::End(TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::TableCell) => {
                    block.flush_into(&mut blocks, items > 0);
                }
                _ if hidden > 0 => {}
                Event::Text(text) => block.push(&text, line),
                Event::Code(_) => block.push(CODE, line),
                Event::SoftBreak | Event::HardBreak => block.push(" ", line),
                _ => {}
            }
        }
        block.flush_into(&mut blocks, false);
        blocks
    }
}

impl Block {
    fn push(&mut self, text: &str, line: usize) {
        self.lines.push((self.text.len(), line));
        self.text.push_str(text);
    }

    /// Appends the block to `blocks`, and begins a new block.
    fn flush_into(&mut self, blocks: &mut Vec<Self>, next_is_item: bool) {
        let block = std::mem::take(self);
        if !block.text.trim().is_empty() {
            blocks.push(block);
        }
        self.is_item = next_is_item;
    }

    /// Returns the whole text as one sentence, with the line on which it begins.
    pub(super) fn whole(&self) -> Sentence<'_> {
        Sentence { text: self.text.trim(), line: self.line_at(0) }
    }

    /// Returns the sentences. A sentence ends at `.`, `!` or `?` if a space follows, and then a
    /// character that is not a lowercase letter.
    pub(super) fn sentences(&self) -> Vec<Sentence<'_>> {
        let (mut sentences, mut start) = (Vec::new(), 0);
        for (space, _) in self.text.char_indices().filter(|(_, letter)| letter.is_whitespace()) {
            if ends_sentence(&self.text[start..space]) && begins_sentence(&self.text[space..]) {
                self.push_sentence(start, space, &mut sentences);
                start = space;
            }
        }
        self.push_sentence(start, self.text.len(), &mut sentences);
        sentences
    }

    fn push_sentence<'b>(&'b self, start: usize, end: usize, sentences: &mut Vec<Sentence<'b>>) {
        let text = self.text[start..end].trim();
        if !text.is_empty() {
            let indent = self.text[start..end].len() - self.text[start..end].trim_start().len();
            sentences.push(Sentence { text, line: self.line_at(start + indent) });
        }
    }

    fn line_at(&self, offset: usize) -> usize {
        let before = self.lines.iter().take_while(|(start, _)| *start <= offset);
        before.last().map_or(0, |(_, line)| *line)
    }
}

fn ends_sentence(text: &str) -> bool {
    let last = text.split_whitespace().next_back().unwrap_or_default();
    last.trim_end_matches(CLOSING).ends_with(['.', '!', '?']) && !ABBREVIATIONS.contains(&last)
}

fn begins_sentence(text: &str) -> bool {
    let first = text.chars().find(|letter| letter.is_alphanumeric() || *letter == '`');
    first.is_some_and(|letter| !letter.is_lowercase())
}

#[cfg(test)]
mod tests {
    use super::{Sentence, comments, document};

    fn sentences(text: &str) -> Vec<(String, usize)> {
        let blocks = document(text).blocks();
        let all = blocks.iter().flat_map(super::Block::sentences);
        all.map(|Sentence { text, line }| (text.to_owned(), line)).collect()
    }

    #[test]
    fn sentences_have_the_lines_that_they_begin_on() {
        let text = "# Head\n\nOne ends here. Two is\nlonger, e.g. this. `Three`\nfollows? Four.\n";
        let expected = [
            ("Head", 1),
            ("One ends here.", 3),
            ("Two is longer, e.g. this.", 3),
            ("`…` follows?", 4),
            ("Four.", 5),
        ];
        assert_eq!(sentences(text), expected.map(|(text, line)| (text.to_owned(), line)));
    }

    #[test]
    fn code_blocks_quotations_and_html_are_left_out() {
        let text =
            "A.\n\n```text\nNobody.\n```\n\n> Nobody.\n\n<b>\nNobody.\n</b>\n\n    Nobody.\n\nB.\n";
        assert_eq!(sentences(text), [("A.".to_owned(), 1), ("B.".to_owned(), 15)]);
    }

    #[test]
    fn items_and_cells_are_blocks() {
        let text = "- One\n  goes on\n- Two\n\n| a | b |\n|---|---|\n| c | d e |\n";
        let blocks = document(text).blocks();
        let texts: Vec<&str> = blocks.iter().map(|block| block.whole().text).collect();
        assert_eq!(texts, ["One goes on", "Two", "a", "b", "c", "d e"]);
        let items: Vec<bool> = blocks.iter().map(|block| block.is_item).collect();
        assert_eq!(items, [true, true, false, false, false, false]);
    }

    #[test]
    fn comments_are_runs_of_lines_with_one_mark() {
        let source = "//! Module.\n//! More.\n\n// Layering: a may import b.\n//\n// a: b\n\n/// Item.\n// Plain.\n\
                      fn f() {} // behind code\n    // Inside.\n//~ ERROR\n//// ruler\n";
        let found = comments(source);
        let found: Vec<_> = found
            .iter()
            .map(|one| (one.first_line, one.markdown.as_str(), one.is_documentation))
            .collect();
        let expected = [
            (1, "Module.\nMore.\n", true),
            (8, "Item.\n", true),
            (9, "Plain.\n", false),
            (11, "Inside.\n", false),
        ];
        assert_eq!(found, expected);
    }
}
