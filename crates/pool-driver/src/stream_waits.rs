//! Waits on the host for several streams that are not captured.

use std::sync::Arc;

use cudarc::driver::CudaStream;

use crate::calls::synchronize;
use crate::capture::is_capturing;
use crate::captures_under_way::ContextWait;

/// Waits, on the host, for all work of these streams. Returns the number that were waited for, and
/// the number that were not, because they are captured or the driver refused. Returns `None`,
/// without a wait, if a session of this process captures.
///
/// No session begins a capture meanwhile, so a stream that was found outside of a capture stays
/// there. Captures that are made by hand are not prevented.
#[must_use]
pub fn wait_for_streams<'a>(
    streams: impl Iterator<Item = &'a Arc<CudaStream>>,
) -> Option<[usize; 2]> {
    let _wait = ContextWait::begin()?;
    let [mut waited, mut others] = [0; 2];
    for stream in streams {
        let is_done = is_capturing(stream) == Ok(false) && synchronize(stream).is_ok();
        let count = if is_done { &mut waited } else { &mut others };
        *count += 1;
    }
    Some([waited, others])
}
