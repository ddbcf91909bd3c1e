//! An inner scope in a random program, and one slice that outlives the scope.

use pool_core::{PoolBackend, PoolError, Scope};

use super::frame::{Frame, LiveSlice, Views};
use super::hosted::Happenings;
use super::lexical::Flow;
use super::machine::Machine;
use super::program::{Keep, Nested, Step, Style};
use crate::host::{Extent, HostForm, KeepBody, Moment};
use crate::ledger::BlockCounts;
use crate::panics::catch_quietly;
use crate::probe::{BackendProbe, Watching};

/// The steps that run in the inner scope.
struct Body<'b, 'p, 'o, 's, P: BackendProbe> {
    machine: &'b mut Machine<'p, P>,
    frame: &'b mut Frame<'o, 's, P>,
    keep: &'b Keep,
    happenings: Happenings,
    /// The result of running the steps.
    flow: Flow,
    /// Counts of the blocks that the backend had already allocated before the slice was acquired.
    before: Option<BlockCounts>,
}

impl<P: BackendProbe> Body<'_, '_, '_, '_, P> {
    /// Updates the model with the events that occurred while the slice was being acquired. Returns
    /// `true` if any code that creates elements was called.
    fn note_happenings(&mut self) -> bool {
        self.machine.note_happenings(&self.keep.acquire, &self.happenings, 0);
        self.happenings.entered.take()
    }
}

impl<P: BackendProbe> KeepBody<P::Backend> for Body<'_, '_, '_, '_, P> {
    fn before(&mut self, inner: &mut Scope<'_, P::Backend>) -> bool {
        let mut frame = Frame::within(self.frame);
        self.flow = self.machine.run_steps(inner, &mut frame, &self.keep.steps);
        self.before = self.machine.probe.held();
        self.flow == Flow::Done
    }

    fn watch(&self, moment: Moment) {
        self.happenings.note(self.machine.probe, &self.keep.acquire, moment, 0);
    }

    fn acquired(&mut self, inner: &Scope<'_, P::Backend>, extent: Extent) {
        self.note_happenings();
        let slot = self.machine.model.account().active;
        self.machine.took(1);
        self.machine.admit_extent(slot, extent, &self.keep.acquire);
        let mut frame = Frame::within(self.frame);
        for acquire in &self.keep.after {
            self.machine.acquire(inner, &mut frame, acquire);
        }
        self.machine.check_scope(inner);
    }

    fn refused(
        &mut self,
        inner: &Scope<'_, P::Backend>,
        error: &PoolError<<P::Backend as PoolBackend>::Error>,
    ) {
        let entered = self.note_happenings();
        self.machine.tally.host.refusals += 1;
        let is_vector = matches!(self.keep.acquire.form, HostForm::Vec(_));
        self.machine.took(usize::from(entered && is_vector));
        self.machine.check_error(error, &inner.stats(), self.before);
    }
}

impl<P: BackendProbe> Machine<'_, P> {
    /// Runs an inner scope and adds the slice that outlives the scope to the frame. Checks that the
    /// inner scope leaves the rest of the pool unchanged.
    pub(super) fn run_keep<'s>(
        &mut self,
        scope: &mut Scope<'s, P::Backend>,
        frame: &mut Frame<'_, 's, P>,
        keep: &Keep,
    ) -> Flow {
        let Some(forms) = self.probe.host_forms() else {
            return self.run_without_keeping(scope, frame, keep);
        };
        let (active, seed, before) =
            (self.model.account().active, self.model.new_seed(), self.probe.held());
        let mut body = Body {
            machine: self,
            frame,
            keep,
            happenings: Happenings::default(),
            flow: Flow::Done,
            before,
        };
        let kept = catch_quietly(|| forms.keep(scope, &keep.acquire, keep.part, seed, &mut body));
        let flow = body.flow;
        if kept.is_err() {
            // If the slice was acquired before the panic, the model already contains it.
            let entered = body.note_happenings();
            body.machine.tally.host.panics += u64::from(entered);
            body.machine.took(usize::from(entered));
        }
        self.model.give_back(active);
        match kept {
            Ok(Some(held)) => {
                let (extent, is_array) = (held.extent(), keep.acquire.form.is_nd());
                if extent.bytes > 0 {
                    self.took(1);
                    self.model.hand_out(self.probe, active, extent.start, extent.bytes);
                }
                self.tally.host.kept_slices += u64::from(!is_array);
                self.tally.host.kept_arrays += u64::from(is_array);
                frame.views.push(Box::new(LiveSlice::new(held)));
            }
            Ok(None) => {}
            Err(payload) => {
                self.model.contents.lose_track();
                self.unwind(payload, before)
            }
        }
        self.check_scope(scope);
        frame.verify(&self.checks);
        match flow {
            Flow::Done | Flow::Leave(0) => Flow::Done,
            Flow::Leave(more) => Flow::Leave(more - 1),
        }
    }

    /// Runs the steps with a backend whose slices cannot outlive their scope, and acquires the
    /// slice after the inner scope has ended.
    fn run_without_keeping<'s>(
        &mut self,
        scope: &mut Scope<'s, P::Backend>,
        frame: &mut Frame<'_, 's, P>,
        keep: &Keep,
    ) -> Flow {
        let after = keep.after.iter().cloned().map(Step::Acquire);
        let steps = keep.steps.iter().cloned().chain(after).collect();
        let nested = Nested { style: Style::Block, times: 1, refusal: None, steps };
        let flow = self.run_nested(scope, frame, &nested);
        if flow == Flow::Done {
            self.acquire_host(scope, frame, &keep.acquire);
        }
        flow
    }
}
