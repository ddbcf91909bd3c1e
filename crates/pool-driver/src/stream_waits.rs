//! Host-side waits for several streams that are not captured.

use std::sync::Arc;

use cudarc::driver::CudaStream;

use crate::calls::synchronize;
use crate::capture::is_capturing;
use crate::captures_under_way::ContextWait;

/// Blocks the host until all work of these streams is done. Returns the number of streams that were
/// waited for, and the number that were not, because they are captured or the driver refused. If a
/// session of this process is capturing, returns `None` without waiting.
///
/// No session begins a capture during this call, so a stream that is not captured stays that way.
/// Captures that are made without a session are not prevented.
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
