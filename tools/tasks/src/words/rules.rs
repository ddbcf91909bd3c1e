//! The rules, and the sentences in an area that the rules refuse.

use std::fmt;

use super::prose::{self, Block, Passage, Sentence};

/// A rule. Its name is used in the table of allowances.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rule {
    /// A documentation comment must not open with a word in [`OPENINGS`]. In each area,
    /// [`OPENINGS_PER_CENT`] percent may do so.
    Openings,
    /// A sentence must not contain a phrase in [`REFUSED`], except in quotations and code.
    Words,
    /// A sentence must have at most [`LONGEST_SENTENCE`] words.
    Long,
    /// An item in a changelog must have at most [`LONGEST_ITEM`] words.
    Items,
}

/// A sentence that a rule refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) rule: Rule,
    file: String,
    line: usize,
    reason: String,
    sentence: String,
}

/// The findings of the rules in an area.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    pub(super) refusals: Vec<Refusal>,
    documentation_comments: usize,
    sentences: usize,
}

const OPENINGS: [&str; 4] = ["What", "Whether", "Where", "That"];
/// The percentage of documentation comments that may open with a word in [`OPENINGS`].
const OPENINGS_PER_CENT: usize = 2;
const LONGEST_SENTENCE: usize = 40;
const LONGEST_ITEM: usize = 30;
/// The file name of changelogs.
const CHANGELOG: &str = "CHANGELOG.md";

/// Refused phrases in lower case, each with advice.
const REFUSED: &[(&str, &str)] = &[
    ("nobody", "name the actor"),
    ("nobody's", "name the owner"),
    ("somebody", "name the actor"),
    ("whoever", "name the actor"),
    ("as many", "write the number, or the same number"),
    ("so many", "write the number"),
    ("of which", "begin a second sentence"),
    ("comes behind", "follows"),
    ("come behind", "follow"),
    ("answers", "returns, or fails with"),
    ("answered", "returned, or failed with"),
    ("says whether", "returns true if"),
    ("say whether", "return true if"),
    ("says what", "lists, or describes"),
    ("is told", "is notified"),
    ("are told", "are notified"),
    ("to be had", "available"),
    ("as far as", "if, or up to"),
    ("likewise", "repeat the statement"),
    ("at no cost", "write the figure"),
];

/// Phrases in which a word from [`REFUSED`] is a noun and therefore allowed.
const NOUNS: &[&str] = &[
    "all answers",
    "expected answers",
    "its answers",
    "of answers",
    "other answers",
    "the answers",
];

impl Rule {
    pub(super) const ALL: [Self; 4] = [Self::Openings, Self::Words, Self::Long, Self::Items];

    /// Returns the rule of this name in the table.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rule| rule.to_string() == name)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Openings => "openings",
            Self::Words => "words",
            Self::Long => "long",
            Self::Items => "items",
        })
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, file, line, reason, sentence } = self;
        write!(formatter, "{file}:{line}: {rule}: {reason}: {sentence}")
    }
}

/// Formats the figures of an area on one line.
impl fmt::Display for Found {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { documentation_comments, sentences, .. } = self;
        write!(formatter, "{sentences} sentences, {documentation_comments} documentation comments")
    }
}

impl Found {
    /// Checks a file, which is a Rust source or a document.
    pub(super) fn read(&mut self, file: &str, text: &str) {
        if file.ends_with(".rs") {
            for comment in prose::comments(text) {
                self.read_passage(file, &comment);
            }
        } else {
            self.read_passage(file, &prose::document(text));
        }
    }

    /// Returns the allowance that the area needs to pass a rule.
    pub(super) fn needed(&self, rule: Rule) -> usize {
        let count = self.refusals.iter().filter(|refusal| refusal.rule == rule).count();
        let spared =
            rule == Rule::Openings && count * 100 < self.documentation_comments * OPENINGS_PER_CENT;
        if spared { 0 } else { count }
    }

    fn read_passage(&mut self, file: &str, passage: &Passage) {
        let blocks = passage.blocks();
        if passage.is_documentation {
            self.documentation_comments += 1;
            if let Some(sentence) =
                blocks.first().and_then(|block| block.sentences().first().copied())
            {
                self.check_opening(file, sentence);
            }
        }
        let is_changelog = file.rsplit('/').next() == Some(CHANGELOG);
        for block in &blocks {
            if is_changelog && block.is_item {
                self.check_item(file, block);
            }
            for sentence in block.sentences() {
                self.check_sentence(file, sentence);
            }
        }
    }

    fn check_opening(&mut self, file: &str, sentence: Sentence<'_>) {
        let word = sentence
            .text
            .split(|letter: char| !letter.is_alphanumeric())
            .find(|word| !word.is_empty());
        if let Some(opening) = OPENINGS.into_iter().find(|opening| word == Some(*opening)) {
            let reason = format!("opens with {opening:?} (use a verb or a noun phrase)");
            self.refuse(Rule::Openings, file, sentence, reason);
        }
    }

    fn check_item(&mut self, file: &str, item: &Block) {
        let words = words(item.whole().text);
        if words > LONGEST_ITEM {
            let reason = format!("{words} words, but at most {LONGEST_ITEM} allowed");
            self.refuse(Rule::Items, file, item.whole(), reason);
        }
    }

    fn check_sentence(&mut self, file: &str, sentence: Sentence<'_>) {
        self.sentences += 1;
        let count = words(sentence.text);
        if count > LONGEST_SENTENCE {
            let reason = format!("{count} words, but at most {LONGEST_SENTENCE} allowed");
            self.refuse(Rule::Long, file, sentence, reason);
        }
        let plain = normalised(&without_quotations(sentence.text));
        let plain =
            NOUNS.iter().fold(plain, |plain, noun| plain.replace(&format!(" {noun} "), " , "));
        let refused = REFUSED.iter().find(|(phrase, _)| plain.contains(&format!(" {phrase} ")));
        if let Some((phrase, advice)) = refused {
            self.refuse(Rule::Words, file, sentence, format!("{phrase:?} ({advice})"));
        }
    }

    fn refuse(&mut self, rule: Rule, file: &str, sentence: Sentence<'_>, reason: String) {
        let Sentence { text, line } = sentence;
        let (file, sentence) = (file.to_owned(), text.to_owned());
        self.refusals.push(Refusal { rule, file, line, reason, sentence });
    }
}

/// Returns the number of words. A word is a sequence without spaces that contains a letter or
/// digit, or represents code.
fn words(text: &str) -> usize {
    let is_word =
        |word: &&str| word.chars().any(|letter| letter.is_alphanumeric() || letter == '`');
    text.split_whitespace().filter(is_word).count()
}

/// Returns the words in lower case, with one space before and after each. Punctuation marks also
/// count as words, so no phrase extends across them.
fn normalised(text: &str) -> String {
    let mut plain = String::from(" ");
    for word in text.split_whitespace() {
        let trimmed = word.trim_end_matches(|letter: char| !letter.is_alphanumeric());
        let start = trimmed.trim_start_matches(|letter: char| !letter.is_alphanumeric());
        plain.push_str(&start.to_lowercase());
        plain.push(' ');
        if word[trimmed.len()..].contains([',', ';', ':', '.', '(', ')', '–']) {
            plain.push_str(", ");
        }
    }
    plain
}

/// Returns the text without the parts between quotation marks.
fn without_quotations(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(['"', '“']) {
        let (before, quoted) = rest.split_at(start);
        let mark = quoted.chars().next().unwrap_or_default();
        let quoted = &quoted[mark.len_utf8()..];
        let Some(end) = quoted.find(['"', '”']) else { break };
        kept.push_str(before);
        // The quotation is replaced by a word, so the words around it do not form a phrase.
        kept.push_str("quoted");
        rest = quoted[end..].strip_prefix(['"', '”']).unwrap_or_default();
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use super::{Found, Rule, without_quotations};

    /// Returns the rules that refuse something in this file, in order.
    fn refused(file: &str, text: &str) -> Vec<Rule> {
        let mut found = Found::default();
        found.read(file, text);
        found.refusals.iter().map(|refusal| refusal.rule).collect()
    }

    /// Sentences that a rule has to refuse.
    #[rustfmt::skip]
    const PLANTED: [(&str, &str, Rule); 10] = [
        ("a.rs", "/// What the driver calls the capture.\nfn f() {}\n", Rule::Openings),
        ("a.rs", "    /// Whether the pool is empty.\n    empty: bool,\n", Rule::Openings),
        ("a.rs", "//! Where the pieces begin.\n", Rule::Openings),
        ("a.rs", "/// That there is nothing to complain of.\n", Rule::Openings),
        ("a.rs", "// The memory is nobody's.\n", Rule::Words),
        ("a.md", "The query\nanswers with an error.\n", Rule::Words),
        ("a.md", "| call | effect |\n|---|---|\n| `f` | has *as many* blocks |\n", Rule::Words),
        ("a.rs", "/// Returns the block, the address of which is fixed.\n", Rule::Words),
        ("a.md", "One two three four five six seven eight nine ten one two three four five six seven eight nine ten one \
            two three four five six seven eight nine ten one two three four five six seven eight nine `ten` more.\n",
            Rule::Long),
        ("CHANGELOG.md", "- One two three four five six seven eight nine ten. One two three four five six seven eight \
            nine ten. One two three four five six seven eight nine ten\n  `more`.\n", Rule::Items),
    ];

    /// Sentences that no rule may refuse.
    #[rustfmt::skip]
    const GOOD: [(&str, &str); 10] = [
        ("a.rs", "/// Returns the bytes that whole pages need.\n"),
        ("a.rs", "/// The bytes that are free. Whether they are contiguous is not recorded.\n"),
        ("a.rs", "/// Whatever. [`What`] is a type.\n"),
        ("a.rs", "// What follows is a plain comment, which may open like this.\n"),
        ("a.rs", "/// Compiles `nobody` and:\n///\n/// ```\n/// let nobody = \"answers\";\n/// ```\n"),
        ("a.md", "The output is \"nobody answers\", and “as many” is refused.\n"),
        ("a.md", "> A block quotation, the words of which are its author's.\n\nThe other answers and many blocks.\n"),
        ("a.md", "One two three four five six seven eight nine ten one two three four five six seven eight nine ten. One \
            two three four five six seven eight nine ten one two three four five six seven eight nine ten.\n"),
        ("CHANGELOG.md", "- One two three four five six seven eight nine ten one two three four five six seven eight \
            nine ten one two three four five six seven eight nine ten.\n"),
        ("a.md", "If so, many fit. A call is, told briefly, an event. The blocks, whose own \
            address is fixed, answer the request.\n"),
    ];

    #[test]
    fn ten_planted_sentences_are_refused() {
        for (file, text, rule) in PLANTED {
            assert_eq!(refused(file, text), [rule], "{text}");
        }
    }

    #[test]
    fn ten_good_sentences_are_accepted() {
        for (file, text) in GOOD {
            assert_eq!(refused(file, text), [], "{text}");
        }
    }

    #[test]
    fn one_opening_in_fifty_comments_is_too_much_and_one_in_fifty_one_is_not() {
        for (others, needed) in [(49, 1), (50, 0)] {
            let source =
                "/// Returns it.\nfn f() {}\n".repeat(others) + "/// What it is.\nfn f() {}\n";
            let mut found = Found::default();
            found.read("a.rs", &source);
            assert_eq!((found.refusals.len(), found.needed(Rule::Openings)), (1, needed));
        }
    }

    #[test]
    fn quotations_end_where_they_are_closed() {
        assert_eq!(without_quotations("a \"b\" c “d” e"), "a quoted c quoted e");
        assert_eq!(without_quotations("a \"b c"), "a \"b c");
    }
}
