//! The interpreter for dynamic programs. The interpreter maintains a checkpoint stack, a list of
//! handles, and a model of every array that has a handle.

use pool_core::{DynamicPool, PoolError};

use super::entry::{ArraysBelowScope, Entry};
use super::frame::{Frame, Views};
use super::machine::Machine;
use super::program::{DynamicProgram, DynamicStep, Fill, Form, Setting};
use super::tally::Tally;
use crate::element::{Kind, with_kind};
use crate::ledger::Refusal;
use crate::panics::{catch_planned, catch_quietly, panic_as_planned};
use crate::probe::{BackendProbe, Watching};

/// The maximum number of slots. With more slots, the model would be too slow.
const MOST_SLOTS: usize = 160;

/// The number of stale handles that are looked up after each step, in addition to all live handles.
const STALE_LOOKED_UP: usize = 12;

/// A dynamic pool, along with the arrays and checkpoints that it should contain.
pub(super) struct Subject<P: BackendProbe> {
    pub(super) pool: DynamicPool<P::Backend>,
    pub(super) entries: Vec<Entry>,
    /// The number of slots that were active at each checkpoint. The first entry belongs to the root
    /// and is always 0.
    checkpoints: Vec<usize>,
}

impl<P: BackendProbe> Machine<'_, P> {
    /// Runs a whole program. If the backend already refuses allocations, it continues to refuse
    /// them.
    pub(super) fn run_dynamic(mut self, program: &DynamicProgram) -> Tally {
        self.probe.forget_peak();
        self.model.open(program.setting, self.probe.held());
        let made = DynamicPool::with_config(self.probe.context(), program.setting.config());
        let pool: DynamicPool<P::Backend> = made.expect("a valid setting");
        let mut subject = Subject { pool, entries: Vec::new(), checkpoints: vec![0] };
        for step in &program.steps {
            let finished = catch_planned(|| self.run_dynamic_step(&mut subject, step));
            self.tally.panics += u64::from(finished.is_none());
            self.check_subject(&subject);
        }
        self.probe.refuse(Refusal::Never);
        self.check_dynamic_usable(&mut subject);
        self.checks.finish();
        self.note_stats(&subject.pool.stats());
        drop(subject);
        self.model.close(self.probe.held());
        self.tally
    }

    fn run_dynamic_step(&mut self, subject: &mut Subject<P>, step: &DynamicStep) {
        let Subject { pool, .. } = subject;
        match step {
            DynamicStep::Acquire(acquire) => self.name(subject, acquire.kind, &acquire.form),
            &DynamicStep::Burst(kind, count) => {
                for index in 0..count.min(MOST_SLOTS.saturating_sub(pool.active_slots())) {
                    self.name(subject, kind, &Form::Flat(Fill::Recycled, index % 4));
                }
            }
            DynamicStep::Checkpoint => {
                subject.checkpoints.push(self.model.account().active);
                assert_eq!(pool.checkpoint(), subject.checkpoints.len() - 1, "depth");
            }
            DynamicStep::Rewind => {
                let depth = (subject.checkpoints.len() - 1).max(1);
                self.rewind(subject, depth, DynamicPool::rewind);
            }
            &DynamicStep::RewindTo(pick) => self.rewind_to(subject, pick),
            DynamicStep::Reset => self.rewind(subject, 0, DynamicPool::reset),
            &DynamicStep::Rewrite(pick) => {
                let count = subject.entries.len();
                if count > 0 {
                    let (active, seed) = (self.model.account().active, self.model.new_seed());
                    subject.entries[pick % count].rewrite(self.probe, pool, active, seed);
                }
            }
            &DynamicStep::RewritePair(first, second) => self.rewrite_pair(subject, first, second),
            &DynamicStep::Foreign(kind) => {
                with_kind!(kind, Array => self.try_foreign::<Array>(subject));
            }
            DynamicStep::Split(steps) => {
                let active = self.model.account().active;
                let (handles, mut scope) = pool.split();
                let mut below = ArraysBelowScope { handles, entries: &mut subject.entries, active };
                let finished = catch_planned(|| {
                    let mut frame = Frame::within(&mut below);
                    self.run_steps(&mut scope, &mut frame, steps);
                    frame.verify(&self.checks);
                });
                self.model.give_back(active);
                if finished.is_none() {
                    panic_as_planned();
                }
            }
            DynamicStep::Trim => self.trim(|| pool.trim()),
            DynamicStep::Clear => {
                self.release(|| pool.clear());
                self.rewound(subject, 0);
                self.model.account().cleared();
            }
            DynamicStep::Compact(compaction) => {
                self.release(|| pool.compact(compaction));
            }
            DynamicStep::Sample => pool.sample_lengths(),
            &DynamicStep::Configure(setting) => {
                let reserved = pool.stats().reserved_bytes;
                pool.configure(setting.config()).expect("a valid setting");
                self.probe.forget_peak();
                self.model.account().configured(setting, reserved);
            }
            &DynamicStep::Refuse(refusal) => self.probe.refuse(refusal),
        }
    }

    /// Checks the counters, all live arrays, and the most recent stale handles after each step.
    fn check_subject(&mut self, subject: &Subject<P>) {
        let active = subject.pool.active_slots();
        assert_eq!(active, self.model.account().active, "active slots of a dynamic pool");
        assert_eq!(subject.pool.depth(), subject.checkpoints.len() - 1, "depth");
        self.check_stats(&subject.pool.stats());
        let stale = subject.entries.iter().rev().filter(|entry| !entry.live);
        let live = subject.entries.iter().filter(|entry| entry.live);
        for entry in live.chain(stale.take(STALE_LOOKED_UP)) {
            entry.verify(&self.checks, &subject.pool, active);
            self.tally.stale_handles += u64::from(!entry.live);
        }
    }

    /// Rewinds to an existing depth. The call might panic during an allocation. With the stack
    /// layout, a rewind may allocate memory because the pool merges its chunks if none of their
    /// memory is handed out.
    fn rewind(
        &mut self,
        subject: &mut Subject<P>,
        depth: usize,
        call: impl FnOnce(&mut DynamicPool<P::Backend>),
    ) {
        let before = self.probe.held();
        let ended = catch_quietly(|| call(&mut subject.pool));
        self.rewound(subject, depth);
        if let Err(payload) = ended {
            self.unwind(payload, before)
        }
    }

    /// Rewinds to an existing depth, or checks that the pool refuses to rewind to the depth above
    /// the top.
    fn rewind_to(&mut self, subject: &mut Subject<P>, pick: usize) {
        let top = subject.checkpoints.len() - 1;
        let asked = pick % (top + 2);
        if asked <= top {
            return self.rewind(subject, asked, |pool| {
                pool.rewind_to(asked).unwrap_or_else(|error| panic!("a depth is refused: {error}"));
            });
        }
        match subject.pool.rewind_to(asked) {
            Ok(()) => panic!("rewound to a depth that there is not"),
            Err(PoolError::NoSuchCheckpoint { asked: reported, top: reported_top }) => {
                assert_eq!((reported, reported_top), (asked, top), "numbers of the error");
            }
            Err(other) => panic!("rewinding got another error: {other}"),
        }
    }

    /// Records that the pool was rewound to the checkpoint at `depth`. The checkpoint has been
    /// popped unless it is the root.
    fn rewound(&mut self, subject: &mut Subject<P>, depth: usize) {
        let popped = subject.checkpoints.split_off(depth.max(1).min(subject.checkpoints.len()));
        let lowest = popped.into_iter().min().unwrap_or(0);
        let active = if depth == 0 { 0 } else { lowest.min(self.model.account().active) };
        self.model.give_back(active);
        for entry in &mut subject.entries {
            entry.live &= entry.slot < active;
        }
    }

    /// Checks that acquires still work after a program has run, and that the acquired arrays can be
    /// written and read.
    fn check_dynamic_usable(&mut self, subject: &mut Subject<P>) {
        let room = Setting { byte_limit: None, ..self.model.account().setting };
        self.run_dynamic_step(subject, &DynamicStep::Configure(room));
        for (kind, length) in [(Kind::F64, 3), (Kind::U8, 0), (Kind::Vector, 40), (Kind::Bool, 9)] {
            let before = subject.entries.len();
            self.name(subject, kind, &Form::Flat(Fill::Copied, length));
            assert_eq!(subject.entries.len(), before + 1, "an acquire without limit was refused");
            self.check_subject(subject);
        }
    }
}
