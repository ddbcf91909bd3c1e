//! The observations made for a question. Each is printed on one line with its expectation and
//! source.
//!
//! An expectation is *documented* if NVIDIA's documentation states it, *seen* if hardware has
//! confirmed it, and *assumed* if hardware has not confirmed it yet. All three must hold. If
//! hardware contradicts an assumption, the test fails, so the assumption is corrected. An
//! observation that differs between devices is only *noted* and has no expectation.

use std::fmt::{self, Write as _};
use std::io::Write as _;

use crate::driver::{Code, Kind, Outcome, Refusal, Status};

/// The variable that names a file to which every line is appended.
const FILE_VARIABLE: &str = "DRIVER_ANSWERS";

/// An observation as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    text: String,
    /// The call that the driver lacks, if the observation is that a call is missing.
    missing: Option<&'static str>,
}

/// The observations of one topic.
#[derive(Debug)]
pub struct Answers {
    topic: String,
    differing: Vec<String>,
    given: usize,
    skipped: usize,
}

/// The source of an expectation.
#[derive(Clone, Copy, Debug)]
enum Standing {
    Documented,
    Assumed,
    Seen,
}

/// The result codes that questions expect, by their names in CUDA's documentation.
pub mod codes {
    use cudarc::driver::sys::CUresult as Raw;

    use crate::driver::Code;

    macro_rules! codes {
        ($($name:ident = $raw:ident),* $(,)?) => {
            $(
                #[doc = concat!("`", stringify!($raw), "`")]
                pub const $name: Code = Code::new(Raw::$raw);
            )*
        };
    }

    codes! {
        SUCCESS = CUDA_SUCCESS,
        INVALID_VALUE = CUDA_ERROR_INVALID_VALUE,
        OUT_OF_MEMORY = CUDA_ERROR_OUT_OF_MEMORY,
        INVALID_CONTEXT = CUDA_ERROR_INVALID_CONTEXT,
        INVALID_HANDLE = CUDA_ERROR_INVALID_HANDLE,
        ILLEGAL_STATE = CUDA_ERROR_ILLEGAL_STATE,
        LOSSY_QUERY = CUDA_ERROR_LOSSY_QUERY,
        NOT_READY = CUDA_ERROR_NOT_READY,
        ILLEGAL_ADDRESS = CUDA_ERROR_ILLEGAL_ADDRESS,
        NOT_SUPPORTED = CUDA_ERROR_NOT_SUPPORTED,
        CAPTURE_UNSUPPORTED = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
        CAPTURE_INVALIDATED = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
        CAPTURE_MERGE = CUDA_ERROR_STREAM_CAPTURE_MERGE,
        CAPTURE_UNMATCHED = CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
        CAPTURE_UNJOINED = CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
        CAPTURE_ISOLATION = CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
        CAPTURE_IMPLICIT = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
        CAPTURED_EVENT = CUDA_ERROR_CAPTURED_EVENT,
        CAPTURE_WRONG_THREAD = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
        UPDATE_FAILURE = CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
    }
}

impl Answers {
    /// Creates an empty list.
    #[must_use]
    pub fn new(topic: &str) -> Self {
        Self { topic: topic.to_owned(), differing: Vec::new(), given: 0, skipped: 0 }
    }

    /// Checks an observation against what NVIDIA's documentation states.
    pub fn documented(
        &mut self,
        question: &str,
        observed: impl Into<Answer>,
        expected: impl Into<Answer>,
    ) {
        self.take(question, &observed.into(), &expected.into(), Standing::Documented);
    }

    /// Checks an observation against an assumption that hardware has not confirmed yet.
    pub fn assumed(
        &mut self,
        question: &str,
        observed: impl Into<Answer>,
        expected: impl Into<Answer>,
    ) {
        self.take(question, &observed.into(), &expected.into(), Standing::Assumed);
    }

    /// Checks an observation against what hardware has shown before.
    pub fn seen(
        &mut self,
        question: &str,
        observed: impl Into<Answer>,
        expected: impl Into<Answer>,
    ) {
        self.take(question, &observed.into(), &expected.into(), Standing::Seen);
    }

    /// Records an observation that has no expectation.
    pub fn noted(&mut self, question: &str, observed: impl Into<Answer>) {
        let observed = observed.into();
        if let Some(call) = observed.missing {
            return self.skip(&format!("{question}: the driver has no {call}"));
        }
        self.given += 1;
        self.print(&format!("answer: {}: {question} = {observed} (noted)", self.topic));
    }

    /// Records that a question cannot be tested on this system, and why.
    pub fn skip(&mut self, why: &str) {
        self.skipped += 1;
        self.print(&format!("SKIPPED: {}: {why}", self.topic));
    }

    fn take(&mut self, question: &str, observed: &Answer, expected: &Answer, standing: Standing) {
        if let Some(call) = observed.missing {
            return self.skip(&format!("{question}: the driver has no {call}"));
        }
        self.given += 1;
        let holds = observed == expected;
        let verdict = if holds { "" } else { " DIFFERS" };
        let topic = &self.topic;
        let line = format!(
            "answer: {topic}: {question} = {observed} (expected {expected}, {standing}){verdict}"
        );
        self.print(&line);
        if !holds {
            self.differing.push(line);
        }
    }

    fn print(&self, line: &str) {
        println!("{line}");
        let Some(path) = std::env::var_os(FILE_VARIABLE) else { return };
        let opened = std::fs::OpenOptions::new().create(true).append(true).open(path);
        // A single write ensures that lines of parallel processes do not mix.
        let line = format!("{line}\n");
        if let Err(error) = opened.and_then(|mut file| file.write_all(line.as_bytes())) {
            eprintln!("cannot add an answer to the file that {FILE_VARIABLE} names: {error}");
        }
    }

    /// Ends the topic.
    ///
    /// # Panics
    ///
    /// Panics if an observation differs from its expectation, or if there are neither observations
    /// nor skipped questions.
    #[expect(clippy::panic, reason = "a failing test panics")]
    pub fn close(self) {
        let topic = &self.topic;
        assert!(self.given + self.skipped > 0, "{topic}: no question was asked");
        if self.given == 0 {
            // The runner counts such a test as skipped, and not as passed.
            println!("NOT ASKED: {topic}");
        }
        if self.differing.is_empty() {
            return;
        }
        let mut list = String::new();
        for line in &self.differing {
            let _ = write!(list, "\n  {line}");
        }
        panic!("{topic}: {} of {} answers differ:{list}", self.differing.len(), self.given);
    }
}

impl Answer {
    fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), missing: None }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Documented => "documented",
            Self::Assumed => "assumed",
            Self::Seen => "seen",
        })
    }
}

impl<T> From<&Outcome<T>> for Answer {
    fn from(outcome: &Outcome<T>) -> Self {
        match outcome {
            Ok(_) => codes::SUCCESS.into(),
            Err(refusal) => {
                let missing = match refusal {
                    Refusal::Missing(name) => Some(*name),
                    Refusal::Code(_) => None,
                };
                Self { text: refusal.to_string(), missing }
            }
        }
    }
}

impl<T> From<Outcome<T>> for Answer {
    fn from(outcome: Outcome<T>) -> Self {
        (&outcome).into()
    }
}

impl From<Code> for Answer {
    fn from(code: Code) -> Self {
        Self::text(code.to_string())
    }
}

impl From<bool> for Answer {
    fn from(holds: bool) -> Self {
        Self::text(if holds { "yes" } else { "no" })
    }
}

impl From<Status> for Answer {
    fn from(status: Status) -> Self {
        Self::text(format!("{status:?}").to_lowercase())
    }
}

impl From<Vec<Kind>> for Answer {
    fn from(kinds: Vec<Kind>) -> Self {
        let names: Vec<String> =
            kinds.iter().map(|kind| format!("{kind:?}").to_lowercase()).collect();
        Self::text(names.join(" "))
    }
}

macro_rules! answers_as_they_print {
    ($($type:ty),*) => {
        $(
            impl From<$type> for Answer {
                fn from(value: $type) -> Self {
                    Self::text(value.to_string())
                }
            }
        )*
    };
}

answers_as_they_print!(u32, u64, usize, String, &str);

#[cfg(test)]
mod tests {
    use super::{Answer, Answers, codes};
    use crate::driver::{Outcome, Refusal, Status};

    #[test]
    fn answers_are_told_in_words() {
        let missing: Outcome<()> = Err(Refusal::Missing("cuTurbo"));
        assert_eq!(Answer::from(missing).to_string(), "the driver has no cuTurbo");
        assert_eq!(Answer::from(Ok::<u8, _>(1)), Answer::from(codes::SUCCESS));
        assert_eq!(Answer::from(true).to_string(), "yes");
        assert_eq!(Answer::from(Status::Invalidated).to_string(), "invalidated");
        assert_eq!(Answer::from(7_usize).to_string(), "7");
    }

    #[test]
    fn what_holds_and_what_is_noted_passes() {
        let mut answers = Answers::new("topic");
        answers.documented("one", codes::SUCCESS, codes::SUCCESS);
        answers.noted("two", 2_u32);
        answers.close();
    }

    #[test]
    #[should_panic(expected = "1 of 2 answers differ")]
    fn an_assumption_that_does_not_hold_fails() {
        let mut answers = Answers::new("topic");
        answers.assumed("one", codes::SUCCESS, codes::NOT_READY);
        answers.seen("two", true, true);
        answers.close();
    }

    #[test]
    fn a_missing_call_is_skipped_and_does_not_differ() {
        let mut answers = Answers::new("topic");
        let missing: Outcome<()> = Err(Refusal::Missing("cuTurbo"));
        answers.assumed("one", missing, codes::SUCCESS);
        assert_eq!((answers.given, answers.skipped), (0, 1));
        answers.close();
    }

    #[test]
    #[should_panic(expected = "no question was asked")]
    fn a_topic_without_a_question_fails() {
        Answers::new("topic").close();
    }
}
