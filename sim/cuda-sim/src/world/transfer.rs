//! Copies and fills that are submitted to a stream or a capture. Some of them block the host.

use super::World;
use super::state::copy::{Copy, Corner, End, Rows, Volume};
use super::state::host_call::HostCall;
use super::state::schedule::Goal;
use super::state::stream::Body;
use super::state::work::{Fill, Work};
use crate::code::{Code, Outcome, unmodelled};

/// Copies from ordinary host memory that are at most this large read their source when they are
/// called.
const STAGED: usize = 64 << 10;

impl World {
    /// Adds work to a stream's queue, or to the capture that the stream takes part in.
    pub(crate) fn put(&mut self, stream: usize, work: Work, what: &'static str) -> Outcome<()> {
        self.refuse_legacy_beside_captures(stream)?;
        if self.capturing(stream)?.is_some() {
            self.refuse_made_up_addresses(&work)?;
            self.capture_work(stream, work);
            return Ok(());
        }
        self.put_now(stream, &work, what)
    }

    /// Refuses a captured copy whose addresses were never allocated, but accepts such a fill. With
    /// the other answers, accepts the copy and refuses the fill.
    fn refuse_made_up_addresses(&self, work: &Work) -> Outcome<()> {
        let is_there = |end: &End, first: u64| match end {
            End::Device(_) => self.memory.was_given(first),
            End::Host(_) | End::Staged(_) => true,
        };
        let all_there = match work {
            Work::Fill(fill) if self.other_answers => self.memory.was_given(fill.address),
            Work::Copy(copy) if !self.other_answers => {
                is_there(&copy.from, copy.read().start())
                    && is_there(&copy.to, copy.written().start())
            }
            _ => true,
        };
        if all_there { Ok(()) } else { Err(Code::INVALID_VALUE) }
    }

    fn put_now(&mut self, stream: usize, work: &Work, what: &'static str) -> Outcome<()> {
        match self.prepare(work, &[]) {
            Ok((unit, accesses)) => {
                self.submit(stream, what, &accesses, &[], Body::Unit(unit));
                Ok(())
            }
            Err(trouble) => Err(self.refuse(&trouble, what)),
        }
    }

    pub(crate) fn launch_host_function(
        &mut self,
        thread: u64,
        stream: u64,
        call: HostCall,
    ) -> Outcome<()> {
        let stream = self.stream(thread, stream)?;
        if call.function == 0 {
            return Err(Code::INVALID_VALUE);
        }
        self.put(stream, Work::Host(call), "cuLaunchHostFunc")
    }

    /// `cuStreamAddCallback`, which is refused during captures.
    pub(crate) fn add_callback(&mut self, thread: u64, stream: u64, call: HostCall) -> Outcome<()> {
        let index = self.stream(thread, stream)?;
        if self.capturing(index)?.is_some() {
            return Err(Code::CAPTURE_UNSUPPORTED);
        }
        self.launch_host_function(thread, stream, call)
    }

    pub(crate) fn fill_async(
        &mut self,
        thread: u64,
        stream: u64,
        fill: Fill,
        what: &'static str,
    ) -> Outcome<()> {
        let stream = self.stream(thread, stream)?;
        if !fill.is_valid() {
            return Err(Code::INVALID_VALUE);
        }
        match self.fill_of_the_host(fill) {
            Some(_) if self.capturing(stream)?.is_some() => {
                Err(unmodelled("a fill of memory of the host in a capture"))
            }
            Some(copy) => self.put(stream, Work::Copy(copy), what),
            None => self.put(stream, Work::Fill(fill), what),
        }
    }

    /// Converts a fill of page-locked memory into a copy, because no device stores the bytes.
    fn fill_of_the_host(&self, fill: Fill) -> Option<Copy> {
        let rows = fill.rows();
        self.memory.pinned(fill.address, rows.hull()).filter(|_| rows.hull() > 0)?;
        let element = &fill.value.to_le_bytes()[..fill.element];
        let (bytes, height) = (fill.width * fill.element, fill.height);
        let staged = End::Staged(element.repeat(fill.width * height));
        if height == 1 {
            return Some(Copy::row(End::Host(fill.address), staged, bytes));
        }
        let to = Corner { pitch: fill.pitch, ..Corner::default() };
        let volume = Volume { height, depth: 1, to, from: Corner::packed(bytes, height) };
        Copy::of_rows(End::Host(fill.address), staged, bytes, volume).ok()
    }

    /// Fills in the order of the legacy stream. The host waits if the target is host memory, but
    /// not if it is device memory ("API synchronization behavior" in the driver API).
    pub(crate) fn fill(&mut self, thread: u64, fill: Fill, what: &'static str) -> Outcome<Goal> {
        self.current(thread)?;
        if !fill.is_valid() {
            return Err(Code::INVALID_VALUE);
        }
        let waits = self.fill_of_the_host(fill).is_some();
        self.fill_async(thread, 0, fill, what)?;
        let stream = self.stream(thread, 0)?;
        Ok(if waits { self.end_of(stream) } else { Goal::default() })
    }

    /// Copies in stream order. Returns the work that the host must wait for.
    pub(crate) fn copy_async(
        &mut self,
        thread: u64,
        stream: u64,
        copy: Copy,
        what: &'static str,
    ) -> Outcome<Goal> {
        let stream = self.stream(thread, stream)?;
        let copy = self.with_ends_known(copy);
        if self.capturing(stream)?.is_some() {
            self.put(stream, Work::Copy(copy), what)?;
            return Ok(Goal::default());
        }
        let waits =
            stays_on_the_host(&copy) || (self.is_pageable(&copy) && !self.may_be_staged(&copy));
        let copy = if self.is_pageable(&copy) && !waits { self.staged(copy) } else { copy };
        self.put(stream, Work::Copy(copy), what)?;
        Ok(if waits { self.end_of(stream) } else { Goal::default() })
    }

    /// Copies in the order of the legacy stream. Returns the work that the host must wait for.
    pub(crate) fn copy(&mut self, thread: u64, copy: Copy, what: &'static str) -> Outcome<Goal> {
        self.current(thread)?;
        let stream = self.stream(thread, 0)?;
        let copy = self.with_ends_known(copy);
        let on_device = |end: &End| matches!(end, End::Device(_));
        let only_on_device = on_device(&copy.from) && on_device(&copy.to);
        let stages = self.is_pageable(&copy) && self.may_be_staged(&copy);
        let copy = if stages { self.staged(copy) } else { copy };
        self.put(stream, Work::Copy(copy), what)?;
        Ok(if only_on_device || stages { Goal::default() } else { self.end_of(stream) })
    }

    /// Resolves addresses of page-locked host memory, which devices access at the same addresses.
    pub(crate) fn with_ends_known(&self, copy: Copy) -> Copy {
        let (written, read) = (copy.written(), copy.read());
        let known = |end: End, first: u64, bytes: usize| match end {
            End::Device(address) if self.memory.pinned(first, bytes).is_some() => {
                End::Host(address)
            }
            end => end,
        };
        let Copy { to, from, bytes, volume } = copy;
        let to = known(to, written.start(), written.hull());
        Copy { to, from: known(from, read.start(), read.hull()), bytes, volume }
    }

    /// Returns `true` if either end of the copy is ordinary host memory.
    fn is_pageable(&self, copy: &Copy) -> bool {
        let pageable = |end: &End, rows: Rows| match end {
            End::Host(_) => self.memory.pinned(rows.start(), rows.hull().max(1)).is_none(),
            End::Device(_) | End::Staged(_) => false,
        };
        pageable(&copy.from, copy.read()) || pageable(&copy.to, copy.written())
    }

    /// Returns `true` if the source can be read now, so the host need not wait for the transfer.
    fn may_be_staged(&self, copy: &Copy) -> bool {
        matches!(copy.from, End::Host(_)) && !stays_on_the_host(copy) && copy.total() <= STAGED
    }

    fn staged(&self, copy: Copy) -> Copy {
        let (End::Host(_), rows) = (&copy.from, copy.read()) else { return copy };
        if self.memory.host_trouble(rows.start(), rows.hull()).is_some() {
            // `prepare` refuses this copy, so the memory must not be read.
            return copy;
        }
        Copy { from: End::Staged(self.read_host(rows.each())), ..copy }
    }
}

/// "For transfers from any host memory to any host memory, the function is fully synchronous with respect to the host."
fn stays_on_the_host(copy: &Copy) -> bool {
    matches!((&copy.from, &copy.to), (End::Host(_), End::Host(_)))
}
