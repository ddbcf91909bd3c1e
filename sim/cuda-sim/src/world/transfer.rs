//! Copies and fills as callers make them: into a stream or a capture, and whether the host waits.

use super::World;
use super::code::{Code, Outcome};
use super::schedule::Goal;
use super::stream::{Body, HostCall};
use super::work::{Copy, End, Fill, Work};

/// Copies from ordinary host memory up to here are taken when the call is made.
const STAGED: usize = 64 << 10;

impl World {
    /// Puts work into a stream's queue, or into the capture that the stream takes part in.
    pub(crate) fn put(&mut self, stream: usize, work: Work, what: &'static str) -> Outcome<()> {
        self.refuse_legacy_beside_captures(stream)?;
        if self.capturing(stream)?.is_some() {
            self.refuse_made_up_addresses(&work)?;
            self.capture_work(stream, work);
            return Ok(());
        }
        self.put_now(stream, &work, what)
    }

    /// A driver may look at addresses already when a copy or a fill is captured.
    fn refuse_made_up_addresses(&self, work: &Work) -> Outcome<()> {
        let is_there = |end: &End| match end {
            End::Device(address) => self.memory.was_given(*address),
            End::Host(_) | End::Staged(_) => true,
        };
        let all_there = match work {
            Work::Fill(fill) => self.memory.was_given(fill.address),
            Work::Copy(copy) => is_there(&copy.from) && is_there(&copy.to),
            _ => true,
        };
        if all_there || !self.other_answers { Ok(()) } else { Err(Code::INVALID_VALUE) }
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
        self.put(stream, Work::Fill(fill), what)
    }

    /// Goes behind the legacy stream; the host does not wait for it.
    pub(crate) fn fill(&mut self, thread: u64, fill: Fill, what: &'static str) -> Outcome<()> {
        self.current(thread)?;
        self.refuse_unsafe_call(thread)?;
        self.fill_async(thread, 0, fill, what)
    }

    /// A copy behind a stream; answers what the host waits for.
    pub(crate) fn copy_async(
        &mut self,
        thread: u64,
        stream: u64,
        copy: Copy,
        what: &'static str,
    ) -> Outcome<Goal> {
        let stream = self.stream(thread, stream)?;
        if self.capturing(stream)?.is_some() {
            self.put(stream, Work::Copy(copy), what)?;
            return Ok(Goal::default());
        }
        let waits = self.is_pageable(&copy) && !self.may_be_staged(&copy);
        let copy = if self.is_pageable(&copy) && !waits { self.staged(copy) } else { copy };
        self.put(stream, Work::Copy(copy), what)?;
        Ok(if waits { self.end_of(stream) } else { Goal::default() })
    }

    /// A copy behind the legacy stream; answers what the host waits for.
    pub(crate) fn copy(&mut self, thread: u64, copy: Copy, what: &'static str) -> Outcome<Goal> {
        self.current(thread)?;
        self.refuse_unsafe_call(thread)?;
        let stream = self.stream(thread, 0)?;
        let on_device = |end: &End| matches!(end, End::Device(_));
        let only_on_device = on_device(&copy.from) && on_device(&copy.to);
        let stages = self.is_pageable(&copy) && self.may_be_staged(&copy);
        let copy = if stages { self.staged(copy) } else { copy };
        self.put(stream, Work::Copy(copy), what)?;
        Ok(if only_on_device || stages { Goal::default() } else { self.end_of(stream) })
    }

    /// Whether one of its ends is ordinary host memory.
    fn is_pageable(&self, copy: &Copy) -> bool {
        let pageable = |end: &End| match end {
            End::Host(address) => self.memory.pinned(*address, copy.bytes.max(1)).is_none(),
            End::Device(_) | End::Staged(_) => false,
        };
        pageable(&copy.from) || pageable(&copy.to)
    }

    /// The host need not wait for its bytes to arrive: they are read now and arrive later.
    fn may_be_staged(&self, copy: &Copy) -> bool {
        matches!(copy.from, End::Host(_)) && copy.bytes <= STAGED
    }

    fn staged(&self, copy: Copy) -> Copy {
        let End::Host(address) = copy.from else { return copy };
        let mut bytes = vec![0; copy.bytes];
        if self.memory.host_trouble(address, copy.bytes).is_some() {
            // Left for `prepare` to refuse: nobody may read it.
            return Copy { from: End::Host(address), ..copy };
        }
        self.host.read(address, &mut bytes);
        Copy { from: End::Staged(bytes), ..copy }
    }
}
