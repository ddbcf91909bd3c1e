//! `MiniMalloc`'s CSV format. It contains the buffers of one device with their lifetimes in events,
//! as a problem for `solve`.

use std::io::{self, Write};

use super::recording::Buffer;

/// Writes a problem. Buffers that are never freed are live until after the last event.
pub(super) fn write(buffers: &[Buffer], mut to: impl Write) -> io::Result<()> {
    writeln!(to, "id,lower,upper,size")?;
    for Buffer { live, lower, upper, .. } in buffers {
        writeln!(to, "{},{lower},{upper},{}", live.number, live.event.asked())?;
    }
    to.flush()
}
