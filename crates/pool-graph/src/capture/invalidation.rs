//! The calls that can invalidate a capture, with advice for each one. The driver does not report
//! which call invalidated a capture. The error therefore lists every call that can invalidate a
//! capture in the current mode. The list also depends on whether cudarc tracks events.

use std::fmt;

use crate::driver::CaptureMode;

/// A kind of call that can invalidate a capture.
struct Cause {
    is_possible: fn(CaptureMode, bool) -> bool,
    call: &'static str,
    instead: &'static str,
}

const CAUSES: [Cause; 10] = [
    Cause {
        is_possible: |_, event_tracking| event_tracking,
        call: "a cudarc slice from before the capture was used in the capture while cudarc's event \
               tracking was enabled",
        instead: "call `CudaContext::disable_event_tracking` before the capture",
    },
    Cause {
        is_possible: |_, event_tracking| event_tracking,
        call: "a cudarc slice was allocated or dropped",
        instead: "acquire from the capture, and drop slices after the capture",
    },
    Cause {
        is_possible: |mode, _| mode == CaptureMode::ThreadLocal,
        call: "this thread called `cuMemAlloc`, `cuMemFree` or another call that may wait",
        instead: "make such calls before or after the capture",
    },
    Cause {
        is_possible: |mode, _| mode == CaptureMode::Global,
        call: "a thread called `cuMemAlloc`, `cuMemFree` or another call that may wait",
        instead: "use `CaptureMode::ThreadLocal`, which allows such calls on other threads",
    },
    Cause {
        is_possible: |mode, _| mode == CaptureMode::ThreadLocal,
        call: "this thread queried or waited for any stream or event, called `cuMemAllocAsync` or \
               `cuMemFreeAsync` outside the capture, instantiated a graph, or created a memory pool",
        instead: "do it before or after the capture, or on another thread",
    },
    Cause {
        is_possible: |mode, _| mode == CaptureMode::Global,
        call: "a thread queried or waited for any stream or event, called `cuMemAllocAsync` or \
               `cuMemFreeAsync` outside the capture, instantiated a graph, or created a memory pool",
        instead: "use `CaptureMode::ThreadLocal`, where other threads may do it",
    },
    Cause {
        is_possible: |_, _| true,
        call: "a captured stream, its context or an event of the capture was waited for or queried",
        instead: "wait after the capture",
    },
    Cause {
        is_possible: |_, _| true,
        call: "a graph was launched on a captured stream",
        instead: "launch it before or after the capture",
    },
    Cause {
        is_possible: |_, _| true,
        call: "a captured stream waited for an event from before the capture",
        instead: "wait for that event before the capture",
    },
    Cause {
        is_possible: |_, _| true,
        call: "a capture of these streams was begun or ended without the session",
        instead: "let the session begin and end the capture",
    },
];

/// Lists the calls that might have invalidated a capture in this mode.
pub(super) struct PossibleCauses {
    pub(super) mode: CaptureMode,
    pub(super) event_tracking: bool,
}

impl fmt::Display for PossibleCauses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_possible = |cause: &&Cause| (cause.is_possible)(self.mode, self.event_tracking);
        for (number, Cause { call, instead, .. }) in CAUSES.iter().filter(is_possible).enumerate() {
            let before = if number == 0 { "" } else { "; " };
            write!(f, "{before}({}) {call}: {instead}", number + 1)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{CAUSES, PossibleCauses};
    use crate::driver::CaptureMode;

    #[test]
    fn only_possible_causes_are_listed() {
        for (mode, event_tracking, listed) in [
            (CaptureMode::Global, true, [0, 1, 3, 5, 6, 7, 8, 9].as_slice()),
            (CaptureMode::ThreadLocal, true, &[0, 1, 2, 4, 6, 7, 8, 9]),
            (CaptureMode::Relaxed, true, &[0, 1, 6, 7, 8, 9]),
            (CaptureMode::Global, false, &[3, 5, 6, 7, 8, 9]),
            (CaptureMode::ThreadLocal, false, &[2, 4, 6, 7, 8, 9]),
            (CaptureMode::Relaxed, false, &[6, 7, 8, 9]),
        ] {
            let text = PossibleCauses { mode, event_tracking }.to_string();
            for (number, cause) in CAUSES.iter().enumerate() {
                let is_listed = text.contains(cause.call) && text.contains(cause.instead);
                assert_eq!(is_listed, listed.contains(&number), "{mode:?}: {text}");
            }
            assert!(text.contains(&format!("({}) ", listed.len())), "{text}");
        }
    }
}
