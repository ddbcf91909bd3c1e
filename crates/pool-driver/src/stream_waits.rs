//! Waits for several streams, except for streams that are being captured.

use std::sync::Arc;

use cudarc::driver::CudaStream;

use crate::calls::synchronize;
use crate::capture::is_capturing;
use crate::captures_under_way::ContextWait;

/// Blocks the host until all work on the given streams has completed. Returns how many streams the
/// host waited for and how many it skipped. A stream is skipped if it is being captured, or if
/// waiting for it fails. If a session in this process is capturing, this function returns `None`
/// without waiting.
///
/// No session can begin a capture during this call, so none of these streams can become captured
/// between the check and the wait. This function cannot prevent captures that are started outside a
/// session.
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
