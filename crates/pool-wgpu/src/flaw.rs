//! Implements deliberate mistakes, which show whether the conformance suite detects errors. In the
//! unit tests and the browser test program, streams record their commands through this module's
//! [`Recorder`]. This `Recorder` wraps the real recorder. All other builds omit this module.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};

use crate::error::WgpuError;
use crate::memory::Allocation;
use crate::recorder::{Recorder as Real, Recording};
use crate::setup::Setup;

/// A mistake that a test can plant in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(unreachable_pub, reason = "public in the program of tests for a browser")]
pub enum Flaw {
    /// Uploads from the host run before all recorded commands if the uploaded ranges consist of
    /// whole words.
    UploadsOvertake,
    /// Copies between buffers run before all recorded commands if the copied ranges consist of
    /// whole words.
    CopiesOvertake,
    /// Fills with zeros run before all recorded commands if the filled ranges consist of whole
    /// words.
    ZeroesOvertake,
    /// Fills with zeros have no effect.
    ZeroesNothing,
    /// Each fill skips the first word of its range.
    FillsLate,
    /// Each fill skips the last word of its range.
    FillsShort,
    /// Each fill also writes the word after its range.
    FillsFar,
    /// Each upload skips the last word of its range.
    UploadsShort,
    /// Each copy between two buffers skips the last word of its range.
    CopiesShort,
    /// Watches are not notified when a buffer is freed. This mistake is planted in the test's
    /// probe, not in the stream.
    Unreported,
}

/// All mistakes, each with the name of the test case that should detect it.
#[allow(unreachable_pub, reason = "public in the program of tests for a browser")]
pub const CASES: [(Flaw, &str); 10] = [
    (Flaw::UploadsOvertake, "an upload comes after the work of former views"),
    (Flaw::CopiesOvertake, "what a view is given comes after older work, before newer"),
    (Flaw::ZeroesOvertake, "zeroing comes after the work of former views"),
    (Flaw::ZeroesNothing, "zeroing comes after the work of former views"),
    (Flaw::FillsLate, "a fill comes after the work of former views"),
    (Flaw::FillsShort, "a fill reaches the last of a mebibyte"),
    (Flaw::FillsFar, "what a view is given stays within it"),
    (Flaw::UploadsShort, "an upload comes before the work of later views"),
    (Flaw::CopiesShort, "a copy has what its source held when it was asked for"),
    (Flaw::Unreported, "memory is back when trim, compact and clear return"),
];

thread_local! {
    static PLANTED: Cell<Option<Flaw>> = const { Cell::new(None) };
}

/// Runs `code` with the given mistake planted in all of this thread's streams.
#[allow(unreachable_pub, reason = "public in the program of tests for a browser")]
pub fn with_planted<R>(flaw: Flaw, code: impl FnOnce() -> R) -> R {
    /// A guard that removes the planted mistake when it is dropped, even if the code panics.
    struct Planted;

    impl Drop for Planted {
        fn drop(&mut self) {
            PLANTED.set(None);
        }
    }

    PLANTED.set(Some(flaw));
    let _planted = Planted;
    code()
}

/// A recorder that behaves like the real one, except for the mistake planted on this thread.
pub(crate) struct Recorder<'a> {
    real: Real<'a>,
    setup: &'a Setup,
}

impl<'a> Recorder<'a> {
    pub(crate) fn new(setup: &'a Setup, recording: &'a mut Recording, freed: &[u64]) -> Self {
        Self { real: Real::new(setup, recording, freed), setup }
    }

    pub(crate) fn fill(
        &mut self,
        allocation: &Allocation,
        start: u64,
        end: u64,
        element: &[u8],
    ) -> Result<(), WgpuError> {
        let is_zero = element.iter().all(|byte| *byte == 0);
        match PLANTED.get() {
            Some(Flaw::ZeroesOvertake) if is_zero && start < end && are_words([start, end]) => {
                self.overtake(|encoder| {
                    encoder.clear_buffer(&allocation.buffer, start, Some(end - start));
                });
                Ok(())
            }
            Some(Flaw::ZeroesNothing) if is_zero => Ok(()),
            Some(Flaw::FillsLate) => {
                self.real.fill(allocation, start.saturating_add(4).min(end), end, element)
            }
            Some(Flaw::FillsFar) => {
                self.real.fill(allocation, start, (end + 4).min(allocation.bytes), element)
            }
            Some(Flaw::FillsShort) => {
                self.real.fill(allocation, start, end.saturating_sub(4).max(start), element)
            }
            _ => self.real.fill(allocation, start, end, element),
        }
    }

    pub(crate) fn copy(
        &mut self,
        from: (&Allocation, u64),
        to: (&Allocation, u64),
        bytes: u64,
    ) -> Result<(), WgpuError> {
        let is_between = from.0.identity != to.0.identity;
        if PLANTED.get() == Some(Flaw::CopiesShort) && is_between {
            return self.real.copy(from, to, bytes.saturating_sub(4));
        }
        let is_planted = PLANTED.get() == Some(Flaw::CopiesOvertake);
        if !(is_planted && is_between && are_words([from.1, to.1, bytes])) {
            return self.real.copy(from, to, bytes);
        }
        self.overtake(|encoder| {
            encoder.copy_buffer_to_buffer(&from.0.buffer, from.1, &to.0.buffer, to.1, bytes);
        });
        Ok(())
    }

    pub(crate) fn upload(
        &mut self,
        allocation: &Allocation,
        offset: u64,
        source: &[u8],
    ) -> Result<(), WgpuError> {
        if PLANTED.get() == Some(Flaw::UploadsShort) {
            let kept = source.len().saturating_sub(4);
            return if kept == 0 {
                Ok(())
            } else {
                self.real.upload(allocation, offset, &source[..kept])
            };
        }
        let is_planted = PLANTED.get() == Some(Flaw::UploadsOvertake);
        if !(is_planted && are_words([offset, source.len() as u64])) {
            return self.real.upload(allocation, offset, source);
        }
        self.setup.calls.queue.write_buffer(&allocation.buffer, offset, source);
        Ok(())
    }

    /// Submits commands immediately so that they run before the batch's commands.
    fn overtake(&self, record: impl FnOnce(&mut wgpu::CommandEncoder)) {
        let calls = &self.setup.calls;
        let mut encoder = calls.device.create_command_encoder(&Default::default());
        record(&mut encoder);
        calls.queue.submit([encoder.finish()]);
    }
}

impl<'a> Deref for Recorder<'a> {
    type Target = Real<'a>;

    fn deref(&self) -> &Real<'a> {
        &self.real
    }
}

impl<'a> DerefMut for Recorder<'a> {
    fn deref_mut(&mut self) -> &mut Real<'a> {
        &mut self.real
    }
}

/// Returns `true` if all byte counts are multiples of 4, as WebGPU's commands require.
fn are_words<const N: usize>(numbers: [u64; N]) -> bool {
    numbers.iter().all(|number| number.is_multiple_of(4))
}

#[cfg(test)]
#[path = "../tests/suite/support/mod.rs"]
#[allow(
    dead_code,
    unused_imports,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests, which share what the suite has"
)]
pub(crate) mod support;

#[cfg(test)]
#[allow(clippy::panic, clippy::print_stdout, clippy::unwrap_used, reason = "tests")]
mod tests {
    use pool_conformance::cases::all;
    use pool_conformance::panics::{catch_quietly, text};
    use pool_conformance::programs::strategy::lexical_program;
    use pool_conformance::programs::{run_lexical, runner};
    use proptest::strategy::{Strategy, ValueTree};

    use super::support::{Snapshots, WgpuProbe, own_stream};
    use super::{CASES, Flaw, with_planted};
    use crate::stream::Stream;

    /// Runs a test case with a planted mistake and returns its failure message, or `None` if it
    /// passes.
    fn failure(name: &str, flaw: Flaw, probe: WgpuProbe) -> Option<String> {
        let case = all().into_iter().find(|case| case.name() == name);
        let case = case.unwrap_or_else(|| panic!("no case \"{name}\""));
        let probe = mistaken(flaw, probe);
        let ended = with_planted(flaw, || catch_quietly(|| case.run(&probe)));
        ended.err().map(|payload| text(payload.as_ref()).to_owned())
    }

    /// Returns the probe, which does not report frees if the planted mistake is
    /// [`Flaw::Unreported`].
    fn mistaken(flaw: Flaw, mut probe: WgpuProbe) -> WgpuProbe {
        probe.reports_frees = flaw != Flaw::Unreported;
        probe
    }

    /// Returns the number of random programs whose final results reveal a mistake.
    fn noticed(flaw: Flaw, stream: &Stream, programs: usize) -> usize {
        let mut runner = runner(0);
        let snapshots = Snapshots::new(stream.clone());
        let mut notices = || {
            let program = lexical_program(true).new_tree(&mut runner).unwrap().current();
            let probe = WgpuProbe::with_snapshots(stream.clone(), snapshots.clone());
            let probe = mistaken(flaw, probe);
            with_planted(flaw, || catch_quietly(|| run_lexical(&probe, &program))).is_err()
        };
        (0..programs).filter(|_| notices()).count()
    }

    #[test]
    fn random_programs_notice_every_mistake_that_they_can_make() {
        // The random programs cannot detect the mistakes in `others`, because they neither copy
        // views nor fill parts of views.
        let others = [Flaw::CopiesOvertake, Flaw::CopiesShort, Flaw::FillsFar];
        for (flaw, _) in CASES.into_iter().filter(|(flaw, _)| !others.contains(flaw)) {
            let Some((stream, _quiet)) = own_stream(wgpu::Limits::default()) else { return };
            let noticed = noticed(flaw, &stream, 20);
            println!("{flaw:?}: {noticed} of 20 random programs");
            assert!(noticed > 0, "{flaw:?}");
        }
    }

    #[test]
    fn the_suite_names_every_mistake_by_a_case_of_its_own() {
        for (flaw, name) in CASES {
            let Some((stream, _quiet)) = own_stream(wgpu::Limits::default()) else { return };
            let said = failure(name, flaw, WgpuProbe::new(stream));
            println!("{flaw:?} | {name} | {said:.100?}");
            // The test case itself must detect the mistake. It is not enough if only the checks
            // that run after the test case detect it.
            let is_named = said.as_ref().is_some_and(|said| !said.contains("afterwards: "));
            assert!(is_named, "{flaw:?}: {said:?}");
        }
    }
}
