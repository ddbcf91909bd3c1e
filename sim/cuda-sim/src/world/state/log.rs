//! Calls: how often each was called, their log, and planned failures.

use std::collections::HashMap;

use crate::code::Code;

/// A planned failure. Calls are counted from its registration.
#[derive(Debug)]
struct Fault {
    /// The name of the call, or `None` for any call.
    name: Option<String>,
    /// The number of calls left. The call that reduces it to 0 fails.
    left: u64,
    code: Code,
}

/// The calls that one test has made.
#[derive(Debug, Default)]
pub(crate) struct Log {
    counts: HashMap<&'static str, u64>,
    total: u64,
    faults: Vec<Fault>,
    lines: Vec<String>,
    /// The executed operations, in order.
    trace: Vec<String>,
}

/// The maximum number of lines in the log and in the trace.
const KEPT: usize = 1 << 18;

impl Log {
    /// Makes the n-th call from now fail. An empty `name` matches any call.
    pub(crate) fn fail(&mut self, name: &str, nth: u64, code: Code) {
        let name = Some(name.to_owned()).filter(|name| !name.is_empty());
        self.faults.push(Fault { name, left: nth.max(1), code });
    }

    /// Counts a call. If its failure is planned, returns the code as an error.
    pub(crate) fn enter(&mut self, name: &'static str) -> Result<(), Code> {
        *self.counts.entry(name).or_default() += 1;
        self.total += 1;
        let mut failing = None;
        self.faults.retain_mut(|fault| {
            if fault.name.as_deref().is_some_and(|wanted| wanted != name) {
                return true;
            }
            fault.left -= 1;
            if fault.left == 0 {
                failing = Some(fault.code);
            }
            fault.left > 0
        });
        failing.map_or(Ok(()), Err)
    }

    pub(crate) fn leave(&mut self, name: &'static str, code: Code) {
        if self.lines.len() < KEPT {
            self.lines.push(format!("{name} {}", code.0));
        }
    }

    pub(crate) fn ran(&mut self, line: String) {
        if self.trace.len() < KEPT {
            self.trace.push(line);
        }
    }

    /// Returns how many calls of this name were made. An empty name counts all calls.
    pub(crate) fn count(&self, name: &str) -> u64 {
        if name.is_empty() { self.total } else { self.counts.get(name).copied().unwrap_or(0) }
    }

    pub(crate) fn calls(&self) -> String {
        self.lines.join("\n")
    }

    pub(crate) fn trace(&self) -> String {
        self.trace.join("\n")
    }

    /// Removes all planned failures.
    pub(crate) fn forget_faults(&mut self) {
        self.faults.clear();
    }

    /// Clears the log and the trace, but keeps planned failures.
    pub(crate) fn forget_calls(&mut self) {
        self.counts.clear();
        self.total = 0;
        self.lines.clear();
        self.trace.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::{Code, Log};

    #[test]
    fn the_nth_call_fails_once() {
        let mut log = Log::default();
        log.fail("cuInit", 2, Code::NO_DEVICE);
        log.fail("", 4, Code::UNKNOWN);
        assert_eq!(log.enter("cuInit"), Ok(()));
        assert_eq!(log.enter("cuOther"), Ok(()));
        assert_eq!(log.enter("cuInit"), Err(Code::NO_DEVICE));
        assert_eq!(log.enter("cuInit"), Err(Code::UNKNOWN));
        assert_eq!(log.enter("cuInit"), Ok(()));
        assert_eq!((log.count("cuInit"), log.count("")), (4, 5));
    }
}
