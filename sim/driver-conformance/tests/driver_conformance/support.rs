//! Helpers that several questions share: pending work, and numbers in device memory.

use driver_conformance::Gate;
use driver_conformance::driver::{self, Event, Outcome, Span, Stream};

/// A stream with a gate, and an event after the gate. Neither is finished until the gate opens.
pub(crate) struct Pending {
    pub(crate) stream: Stream,
    pub(crate) gate: &'static Gate,
    pub(crate) event: Event,
}

impl Pending {
    pub(crate) fn on(stream: Stream) -> Outcome<Self> {
        let gate = Gate::closed();
        stream.hold(gate)?;
        let event = Event::recorded(&stream)?;
        Ok(Self { stream, gate, event })
    }

    pub(crate) fn new() -> Outcome<Self> {
        Self::on(Stream::non_blocking()?)
    }

    /// Opens the gate and waits for the work behind it.
    pub(crate) fn finish(&self) -> Outcome<()> {
        self.gate.open();
        self.stream.synchronize()
    }
}

/// Returns an event that has been recorded and has finished.
pub(crate) fn completed_event() -> Outcome<Event> {
    let stream = Stream::non_blocking()?;
    let event = Event::recorded(&stream)?;
    event.synchronize()?;
    Ok(event)
}

/// Returns device memory that contains these numbers.
pub(crate) fn numbers(values: &[u32]) -> Outcome<Span> {
    let span = driver::allocate(values.len() * 4)?;
    write_numbers(span, values)?;
    Ok(span)
}

/// A copy from pageable memory may return before its transfer ends, and a non-blocking stream does
/// not wait for the transfer. This function therefore waits.
pub(crate) fn write_numbers(span: Span, values: &[u32]) -> Outcome<()> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
    driver::upload(span, &bytes)?;
    Stream::legacy().synchronize()
}

pub(crate) fn read_numbers(span: Span) -> Outcome<Vec<u32>> {
    let bytes = driver::download(span)?;
    let number = |chunk: &[u8]| u32::from_ne_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]);
    Ok(bytes.chunks_exact(4).map(number).collect())
}
