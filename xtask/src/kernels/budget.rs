//! The limits for kernels, with one line each in `budget.tsv`. They are compared with what the
//! kernels need.

use std::collections::BTreeMap;
use std::path::Path;

use super::assembler::Need;
use crate::TaskError;

/// The maximum number of registers and of spilled bytes for each thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limit {
    pub(super) registers: u32,
    pub(super) spilled: u32,
}

/// The limits for all kernels in a directory.
#[derive(Clone, Debug, Default)]
pub(super) struct Budget(BTreeMap<String, Limit>);

impl Budget {
    /// Reads a file of limits.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, if a line is invalid, or if a kernel has two limits.
    pub(super) fn read(file: &Path) -> Result<Self, TaskError> {
        let text = std::fs::read_to_string(file)
            .map_err(|error| format!("{}: {error}", file.display()))?;
        Self::parse(&text)
            .map_err(|line| format!("{}: unknown line {line:?}", file.display()).into())
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut limits = BTreeMap::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (kernel, limit) = parse_line(line).ok_or(line)?;
            if limits.insert(kernel, limit).is_some() {
                return Err(line.to_owned());
            }
        }
        Ok(Self(limits))
    }

    /// Returns the limit for a kernel.
    pub(super) fn of(&self, kernel: &str) -> Option<Limit> {
        self.0.get(kernel).copied()
    }

    /// Returns the reason why a kernel needs more than its limit, or `None` if it does not.
    pub(super) fn complaint(&self, need: &Need) -> Option<String> {
        let Need { kernel, registers, spilled, .. } = need;
        let Some(limit) = self.of(kernel) else {
            return Some(format!("{kernel} has no budget; it needs {registers} registers"));
        };
        if *registers > limit.registers || *spilled > limit.spilled {
            let Limit { registers: most, spilled: spilled_at_most } = limit;
            return Some(format!(
                "{kernel} needs {registers} registers and spills {spilled} bytes; its budget is \
                 {most} registers and {spilled_at_most} bytes"
            ));
        }
        None
    }

    /// Returns the limits that belong to none of these kernels.
    pub(super) fn without_kernel<'b>(
        &'b self,
        kernels: &'b [&str],
    ) -> impl Iterator<Item = &'b str> {
        self.0.keys().map(String::as_str).filter(|kernel| !kernels.contains(kernel))
    }
}

/// Parses the kernel's name, the registers and the spilled bytes, separated by tabs.
fn parse_line(line: &str) -> Option<(String, Limit)> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [kernel, registers, spilled] = fields[..] else { return None };
    let limit = Limit { registers: registers.parse().ok()?, spilled: spilled.parse().ok()? };
    Some((kernel.to_owned(), limit))
}

#[cfg(test)]
mod tests {
    use super::{Budget, Need};

    fn need(kernel: &str, registers: u32, spilled: u32) -> Need {
        Need { kernel: kernel.to_owned(), registers, spilled, shared: 0 }
    }

    #[test]
    fn what_is_above_a_limit_is_reported() {
        let budget = Budget::parse("# kernel\naxpy\t16\t0\nold\t8\t0\n").unwrap();
        assert_eq!(budget.complaint(&need("axpy", 16, 0)), None);
        assert!(budget.complaint(&need("axpy", 17, 0)).unwrap().contains("17 registers"));
        assert!(budget.complaint(&need("axpy", 16, 4)).unwrap().contains("spills 4"));
        assert!(budget.complaint(&need("new", 9, 0)).unwrap().contains("no budget"));
        assert_eq!(budget.without_kernel(&["axpy"]).collect::<Vec<_>>(), ["old"]);
    }

    #[test]
    fn a_line_that_is_none_is_refused() {
        for text in ["axpy 16 0\n", "axpy\t16\n", "axpy\tmany\t0\n", "a\t1\t0\na\t2\t0\n", "\n"] {
            assert!(Budget::parse(text).is_err(), "{text:?}");
        }
    }
}
