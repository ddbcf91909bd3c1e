//! The report of a test: lines that the page takes when the test has ended.

use std::cell::RefCell;

thread_local! {
    static LINES: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Adds a line.
pub(crate) fn add(line: &str) {
    LINES.with_borrow_mut(|lines| {
        lines.push_str(line);
        lines.push('\n');
    });
}

/// Takes all lines.
pub(crate) fn take() -> String {
    LINES.take()
}

/// Adds a line to the report, as `println!` prints one.
macro_rules! say {
    ($($message:tt)*) => { $crate::report::add(&::std::format!($($message)*)) };
}

pub(crate) use say;
