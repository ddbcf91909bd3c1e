//! A body that performs the same steps in a dry run and in a capture, whatever interference occurs.

use std::sync::Arc;

use cuda_sim_control::Settings;
use pool_core::PoolViewMut;
use pool_cuda::AcquireShaped;
use pool_graph::{Capture, CaptureError, CaptureView, GraphMemoryBlock};

use super::N;
use super::meddler::Meddler;
use super::steps::{Act, Body, InBody, What};

/// The state of a body, which an update replaces.
#[derive(Clone)]
pub(super) struct State {
    pub(super) setup: Body,
    pub(super) forgets: bool,
    pub(super) steps: Arc<[InBody]>,
    pub(super) blocks: [GraphMemoryBlock; 3],
    pub(super) value: u8,
    pub(super) meddler: Option<Arc<Meddler>>,
}

pub(super) fn body(capture: &Capture<'_>, state: &mut State) -> Result<(), CaptureError> {
    let mut views: Vec<CaptureView<'_, u8>> = Vec::new();
    for step in state.steps.iter() {
        match (step, &state.meddler) {
            (InBody::Meddle(meddling), Some(meddler)) if !capture.is_dry() => {
                meddler.meddle(*meddling);
            }
            (InBody::Meddle(_), _) => {}
            (InBody::Act(act), _) => match take(capture, state, *act, &mut views) {
                // A forgotten view may have kept the memory lent.
                Err(CaptureError::Lent { .. }) if state.forgets => {}
                done => done?,
            },
        }
    }
    Ok(())
}

fn take<'c>(
    capture: &'c Capture<'c>,
    state: &State,
    act: Act,
    views: &mut Vec<CaptureView<'c, u8>>,
) -> Result<(), CaptureError> {
    let Body { is_single, is_planned, keeps_to, reads } = state.setup;
    let on = [capture.main(), if is_single { capture.main() } else { capture.branch(0)? }];
    let (here, there, value) = (on[act.on], on[1 - act.on], state.value);
    let block = &state.blocks[keeps_to.unwrap_or(act.block)];
    let forgets = act.forgets && state.forgets;
    match act.what {
        What::FillBlock | What::CopyToBlock | What::CopyFromHost | What::Lend if reads => {}
        What::Acquire => {
            let view = capture.acquire((here, N))?;
            let is_its_own =
                |other: &CaptureView<'_, u8>| other.address().abs_diff(view.address()) >= N as u64;
            let may_share = is_planned || views.iter().all(is_its_own);
            assert!(may_share, "bytes of two that live");
            views.push(view);
        }
        What::Release if forgets => std::mem::forget(views.pop()),
        What::Release => drop(views.pop()),
        What::FillBlock => capture.fill_bytes(here, &mut capture.block::<u8>(block)?, value)?,
        What::FillViews => {
            views.iter_mut().try_for_each(|view| capture.fill_bytes(here, view, value))?;
        }
        What::CopyToView => {
            let Some(view) = views.last_mut() else { return Ok(()) };
            capture.copy(here, view, &capture.block(block)?)?;
        }
        What::CopyToBlock => {
            let Some(view) = views.first() else { return Ok(()) };
            capture.copy(here, &mut capture.block(block)?, view)?;
        }
        What::CopyFromHost => {
            let mut to = capture.block::<u8>(block)?;
            capture.copy_from_host(here, &mut to, &[value; N])?;
        }
        What::Wait => capture.wait(here, there)?,
        What::TakeInScope => capture.scope(here, |scope| {
            scope.try_acquire::<u8, _>(2 * N)?;
            Ok::<(), CaptureError>(())
        })?,
        What::Scopes if is_single => one_scope(capture, value)?,
        What::Scopes => scopes(capture, [act.on, 1 - act.on], value)?,
        What::Lend => {
            let mut block = capture.block::<u8>(block)?;
            let mut lent = capture.lend(here, &mut block)?;
            lent.view_mut()?.fill_with_value(value)?;
            let Some(view) = views.last_mut() else { return Ok(()) };
            let mut other = capture.lend(there, view)?;
            other.view_mut()?.copy_from(lent.view()?)?;
            other.view_mut()?.fill_with_value(1)?;
            if forgets {
                std::mem::forget((lent, other));
            }
        }
    }
    Ok(())
}

/// Runs a scope whose shapes are also in the arena.
fn one_scope(capture: &Capture<'_>, value: u8) -> Result<(), CaptureError> {
    capture.scope(capture.main(), |scope| {
        let mut view = scope.try_acquire_zeroed::<u8, _>(N)?;
        let shaped = scope.try_acquire_shaped::<u8>(&[N, 1])?;
        let (mut array, _) = shaped.array.into_parts();
        array.copy_from(view.as_view())?;
        Ok::<(), CaptureError>(view.fill_with_value(value)?)
    })
}

/// Runs a scope on one stream and, inside it, a scope on the other stream that uses the outer
/// scope's memory.
fn scopes(
    capture: &Capture<'_>,
    [outer, inner]: [usize; 2],
    value: u8,
) -> Result<(), CaptureError> {
    let on = [capture.main(), capture.branch(0)?];
    capture.scope(on[outer], |scope| {
        let mut view = scope.try_acquire_zeroed::<u8, _>(N)?;
        capture.scope(on[inner], |other| {
            let mut beside = other.try_acquire_filled(N, value)?;
            // In a probe, a driver may refuse cudarc's own fills because there is no memory.
            let is_refused = capture.is_dry() && Settings::default().other_answers;
            if is_refused {
                view.on(other.context().stream())?;
            } else {
                other.context().stream().memset_zeros(&mut view)?;
            }
            Ok::<(), CaptureError>(beside.fill_with_value(3)?)
        })?;
        Ok::<(), CaptureError>(view.fill_with_value(value)?)
    })
}
