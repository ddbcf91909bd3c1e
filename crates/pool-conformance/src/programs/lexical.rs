//! The interpreter for lexical programs, which uses one Rust stack frame for each scope.

use std::mem::forget;

use pool_core::{Pool, Scope};

use super::frame::{Frame, Views};
use super::machine::Machine;
use super::program::{Acquire, Fill, Form, LexicalProgram, Nested, Round, Setting, Step, Style};
use super::tally::Tally;
use crate::element::Kind;
use crate::ledger::Refusal;
use crate::panics::{catch_planned, panic_as_planned};
use crate::probe::{BackendProbe, Watching};

/// The result of running a scope's steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// The scope ended after its last step.
    Done,
    /// The scope was left early. The interpreter must also leave the given number of enclosing
    /// scopes.
    Leave(usize),
}

/// The maximum number of slots. With more slots, the model would be too slow, because it compares
/// every pair of views.
const MOST_SLOTS: usize = 160;

impl<P: BackendProbe> Machine<'_, P> {
    /// Runs a whole program. If the backend already refuses allocations, it continues to refuse
    /// them.
    pub(super) fn run_lexical(mut self, program: &LexicalProgram) -> Tally {
        self.probe.forget_peak();
        self.model.open(program.setting, self.probe.held());
        {
            let made = Pool::with_config(self.probe.context(), program.setting.config());
            let mut pool: Pool<P::Backend> = made.expect("a valid setting");
            for round in &program.rounds {
                // If a round ends with a panic, the next round still runs.
                let finished = catch_planned(|| self.run_round(&mut pool, round));
                self.tally.panics += u64::from(finished.is_none());
                self.model.give_back(0);
                self.check_stats(&pool.stats());
            }
            self.probe.refuse(Refusal::Never);
            self.check_usable(&mut pool);
            self.checks.finish();
            self.note_stats(&pool.stats());
        }
        self.model.close(self.probe.held());
        self.tally
    }

    fn run_round(&mut self, pool: &mut Pool<P::Backend>, round: &Round) {
        match round {
            Round::Scope(nested) => {
                // With the stack layout, opening a scope may allocate memory because the pool
                // merges its chunks.
                let mut scope = self.call_plain(|| pool.scope());
                self.run_nested(&mut scope, &mut Frame::outermost(), nested);
            }
            Round::Trim => self.trim(|| pool.trim()),
            Round::Clear => {
                self.release(|| pool.clear());
                self.model.account().cleared();
            }
            Round::Compact(compaction) => {
                self.release(|| pool.compact(compaction));
            }
            Round::Sample => pool.sample_lengths(),
            &Round::Configure(setting) => {
                let reserved = pool.stats().reserved_bytes;
                pool.configure(setting.config()).expect("a valid setting");
                self.probe.forget_peak();
                self.model.account().configured(setting, reserved);
            }
        }
    }

    /// Checks that acquires still work after a program has run, and that they return disjoint
    /// memory with the expected contents.
    fn check_usable(&mut self, pool: &mut Pool<P::Backend>) {
        let room = Setting { byte_limit: None, ..self.model.account().setting };
        self.run_round(pool, &Round::Configure(room));
        let acquires = [(Kind::F64, 3), (Kind::U8, 0), (Kind::Vector, 40), (Kind::Bool, 9)];
        let step = |&(kind, length): &(Kind, usize)| {
            Step::Acquire(Acquire { kind, form: Form::Flat(Fill::Copied, length), panics: true })
        };
        let mut steps: Vec<Step> = acquires.iter().map(step).collect();
        steps.push(Step::Verify);
        let nested = Nested { style: Style::Block, times: 2, refusal: None, steps };
        assert!(catch_planned(|| self.run_round(pool, &Round::Scope(nested))).is_some());
    }

    /// Runs steps in a scope and stores the scope's views in `frame`.
    pub(super) fn run_steps<'s>(
        &mut self,
        scope: &mut Scope<'s, P::Backend>,
        frame: &mut Frame<'_, 's, P>,
        steps: &[Step],
    ) -> Flow {
        for step in steps {
            let flow = self.run_step(scope, frame, step);
            if flow != Flow::Done {
                return flow;
            }
        }
        Flow::Done
    }

    fn run_step<'s>(
        &mut self,
        scope: &mut Scope<'s, P::Backend>,
        frame: &mut Frame<'_, 's, P>,
        step: &Step,
    ) -> Flow {
        match step {
            Step::Acquire(acquire) => self.acquire(scope, frame, acquire),
            Step::Host(asked) => self.acquire_host(scope, frame, asked),
            Step::Keep(keep) => return self.run_keep(scope, frame, keep),
            Step::Helper(acquires) => self.help(scope, frame, acquires),
            &Step::Burst(kind, count) => self.burst(scope, frame, kind, count),
            &Step::Rewrite(pick) => self.rewrite(frame, pick),
            Step::Verify => frame.verify(&self.checks),
            Step::Trim => {
                self.trim(|| scope.trim());
                frame.verify(&self.checks);
            }
            Step::Compact(compaction) => {
                self.release(|| scope.compact(compaction));
                frame.verify(&self.checks);
            }
            Step::Sample => scope.sample_lengths(),
            Step::Nested(nested) => return self.run_nested(scope, frame, nested),
            Step::Beside(setting, steps) => self.run_beside(frame, *setting, steps),
            Step::Panic => panic_as_planned(),
            &Step::Leave(more) => return Flow::Leave(more),
        }
        self.check_scope(scope);
        Flow::Done
    }

    /// Runs a helper function that acquires arrays in its caller's scope through a shared
    /// reference.
    fn help<'s>(
        &mut self,
        scope: &Scope<'s, P::Backend>,
        frame: &mut Frame<'_, 's, P>,
        acquires: &[Acquire],
    ) {
        for acquire in acquires {
            self.acquire(scope, frame, acquire);
        }
    }

    fn burst<'s>(
        &mut self,
        scope: &Scope<'s, P::Backend>,
        frame: &mut Frame<'_, 's, P>,
        kind: Kind,
        count: usize,
    ) {
        let room = MOST_SLOTS.saturating_sub(self.model.account().active);
        for index in 0..count.min(room) {
            let form = Form::Flat(Fill::Recycled, index % 4);
            self.acquire(scope, frame, &Acquire { kind, form, panics: false });
        }
    }

    /// Writes new contents to one of the live views. Views are numbered outward from the innermost
    /// scope.
    fn rewrite(&mut self, frame: &mut Frame<'_, '_, P>, pick: usize) {
        let count = frame.count();
        if count > 0 {
            let seed = self.model.new_seed();
            frame.rewrite(self.probe, pick % count, seed);
        }
    }

    /// Opens a scope the number of times that the program specifies. After each use of the scope,
    /// the method checks that nothing outside the scope has changed.
    pub(super) fn run_nested<'s>(
        &mut self,
        scope: &mut Scope<'s, P::Backend>,
        frame: &mut Frame<'_, 's, P>,
        nested: &Nested,
    ) -> Flow {
        let active = self.model.account().active;
        for _ in 0..nested.times {
            let flow = self.run_refusing(scope, frame, nested);
            self.model.give_back(active);
            self.check_scope(scope);
            frame.verify(&self.checks);
            match flow {
                Flow::Done | Flow::Leave(0) => {}
                Flow::Leave(more) => return Flow::Leave(more - 1),
            }
        }
        Flow::Done
    }

    /// Opens a scope once. While the scope is open, the backend refuses the allocations that the
    /// program selects.
    fn run_refusing(
        &mut self,
        scope: &mut Scope<'_, P::Backend>,
        frame: &mut Frame<'_, '_, P>,
        nested: &Nested,
    ) -> Flow {
        let Some(refusal) = nested.refusal else {
            return self.run_once(scope, frame, nested);
        };
        self.probe.refuse(refusal);
        let flow = catch_planned(|| self.run_once(scope, frame, nested));
        self.probe.refuse(Refusal::Never);
        flow.unwrap_or_else(|| panic_as_planned())
    }

    fn run_once(
        &mut self,
        scope: &mut Scope<'_, P::Backend>,
        frame: &mut Frame<'_, '_, P>,
        Nested { style, steps, .. }: &Nested,
    ) -> Flow {
        match style {
            Style::Block => {
                let mut inner = scope.scope();
                self.run_steps(&mut inner, &mut Frame::within(frame), steps)
            }
            Style::Reference => self.by_reference(scope, frame, steps),
            Style::Value => self.by_value(scope.scope(), Frame::within(frame), steps).1,
            Style::Kept => {
                let (mut kept, flow) = self.by_value(scope.scope(), Frame::within(frame), steps);
                self.rewrite(&mut kept, steps.len());
                kept.verify(&self.checks);
                flow
            }
            Style::Forgotten => {
                let mut inner = scope.scope();
                let mut views = Frame::within(frame);
                let flow = self.run_steps(&mut inner, &mut views, steps);
                // The views are passed to `mem::forget`. The test drops its own records of the
                // views, so that no memory leaks.
                for view in views.views.drain(..) {
                    view.forget();
                }
                forget(inner);
                flow
            }
            Style::Caught => {
                let inner = scope.scope();
                let caught = catch_planned(|| self.by_value(inner, Frame::within(frame), steps).1);
                self.tally.panics += u64::from(caught.is_none());
                caught.unwrap_or(Flow::Done)
            }
        }
    }

    /// Runs steps in another pool's scope. The current pool is not used while the other pool's
    /// scope is open.
    fn run_beside(&mut self, frame: &mut Frame<'_, '_, P>, setting: Setting, steps: &[Step]) {
        self.probe.forget_peak();
        self.model.open(setting, self.probe.held());
        let finished = catch_planned(|| {
            let made = Pool::with_config(self.probe.context(), setting.config());
            let mut pool: Pool<P::Backend> = made.expect("a valid setting");
            let flow = self.by_value(pool.scope(), Frame::within(frame), steps).1;
            self.model.give_back(0);
            self.check_stats(&pool.stats());
            self.note_stats(&pool.stats());
            flow
        });
        self.model.close(self.probe.held());
        self.probe.forget_peak();
        if finished.is_none() {
            panic_as_planned();
        }
    }

    /// Runs a helper function that receives `&mut Scope` and opens its own scope.
    #[inline(never)]
    fn by_reference(
        &mut self,
        scope: &mut Scope<'_, P::Backend>,
        frame: &mut Frame<'_, '_, P>,
        steps: &[Step],
    ) -> Flow {
        let mut inner = scope.scope();
        self.run_steps(&mut inner, &mut Frame::within(frame), steps)
    }

    /// Runs a helper function that receives a scope by value and returns the views that it
    /// acquired.
    #[inline(never)]
    fn by_value<'o, 's>(
        &mut self,
        mut scope: Scope<'s, P::Backend>,
        mut views: Frame<'o, 's, P>,
        steps: &[Step],
    ) -> (Frame<'o, 's, P>, Flow) {
        let flow = self.run_steps(&mut scope, &mut views, steps);
        (views, flow)
    }
}
