//! A body that performs its steps, also in a dry run, and records for the model its regions and
//! which nodes use them.

use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaStream, LaunchConfig, PushKernelArg, result};
use pool_core::{PoolView, PoolViewMut, Scope};
use pool_cuda::{Cuda, DeviceViewMut, Launch};
use pool_driver::versioned::capture_info;
use pool_graph::{Capture, CaptureError, CaptureStream, CaptureView, GraphMemoryBlock};

use super::order::Life;
use super::steps::{By, Step};

/// The number of blocks that the graph keeps.
pub(super) const BLOCKS: usize = 2;
/// The number of elements in a block, and in a view of one granule. A pool requests one word more
/// than its views show.
pub(super) const ELEMENTS: usize = 60;

type Result<T = ()> = std::result::Result<T, CaptureError>;

/// The objects that bodies use.
pub(super) struct World {
    pub(super) streams: Vec<Arc<CudaStream>>,
    pub(super) blocks: [GraphMemoryBlock; BLOCKS],
    /// A kernel that writes `count` numbers; `None` if views are filled without a kernel.
    pub(super) fill: Option<CudaFunction>,
    /// `true` if guards are forgotten.
    pub(super) forgets: bool,
}

/// The records of a body.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    pub(super) lives: Vec<Life>,
    /// The uses of each block of the graph.
    pub(super) blocks: [Vec<(u64, bool)>; BLOCKS],
    /// For each region, the number of takes and drops before it was taken; and the number before
    /// its view was dropped, if it was dropped.
    pub(super) called_from: Vec<usize>,
    pub(super) called_until: Vec<Option<usize>>,
    calls: usize,
    /// The region of each view that scopes have acquired. A dry run finds the region by its unique
    /// address. A capture, whose plan may be wrong, uses the regions of the dry run.
    views: Vec<usize>,
    next_view: usize,
}

/// A temporary of the capture, or a block of the graph.
struct Held<'c> {
    view: CaptureView<'c, f32>,
    memory: Memory,
}

/// Memory, identified by its index in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Memory {
    Region(usize),
    Block(usize),
}

/// A device view from a pool on a stream.
struct View<'v> {
    view: DeviceViewMut<'v, f32>,
    memory: Memory,
    on: usize,
}

/// A body in progress.
struct Body<'b, 'c> {
    capture: &'c Capture<'c>,
    world: &'b World,
    log: &'b mut Log,
    temporaries: Vec<Held<'c>>,
    /// `true` for each block that is currently lent. The capture must not use such a block.
    lent: [bool; BLOCKS],
    /// For each stream, the number of open scopes and lent views. `scopes` is `true` if a scope is
    /// open.
    guards: Vec<usize>,
    scopes: Vec<bool>,
}

impl Log {
    /// Returns a log for the capture of the same body. `self` must be the log of the body's dry
    /// run.
    pub(super) fn to_follow(&self) -> Self {
        Self { views: self.views.clone(), ..Self::default() }
    }

    fn take(&mut self, life: Life) -> usize {
        self.calls += 1;
        self.called_from.push(self.calls);
        self.called_until.push(None);
        self.lives.push(life);
        self.lives.len() - 1
    }

    fn release(&mut self, region: usize) {
        self.calls += 1;
        self.called_until[region] = Some(self.calls);
    }

    fn note(&mut self, memory: Memory, node: Option<u64>, writes: bool) {
        let uses = match memory {
            Memory::Region(region) => &mut self.lives[region].uses,
            Memory::Block(block) => &mut self.blocks[block],
        };
        uses.extend(node.map(|node| (node, writes)));
    }
}

/// Performs all steps.
pub(super) fn body(capture: &Capture<'_>, world: &World, log: &mut Log, steps: &[Step]) -> Result {
    let streams = world.streams.len();
    let (guards, scopes) = (vec![0; streams], vec![false; streams]);
    let (temporaries, lent) = (Vec::new(), [false; BLOCKS]);
    let mut body = Body { capture, world, log, temporaries, lent, guards, scopes };
    body.run(steps, &mut Vec::new(), None)
}

/// Returns the handles of a stream's last nodes in the capture, or an empty list if the stream is
/// not captured.
fn frontier(stream: &CudaStream) -> Vec<u64> {
    // SAFETY: the stream is live. This thread alone uses the stream, and reads the array before its
    // next call on the stream.
    let info = unsafe { capture_info(stream.cu_stream()) }.unwrap();
    if info.count == 0 || info.nodes.is_null() {
        return Vec::new();
    }
    // SAFETY: as above.
    let nodes = unsafe { std::slice::from_raw_parts(info.nodes, info.count) };
    nodes.iter().map(|node| node.addr() as u64).collect()
}

fn reborrowed<'v>(views: &'v mut [View<'_>]) -> Vec<View<'v>> {
    let reborrow = |one: &'v mut View<'_>| View { view: one.view.reborrow(), ..*one };
    views.iter_mut().map(reborrow).collect()
}

impl<'b, 'c> Body<'b, 'c> {
    fn name(&self, stream: usize) -> Result<CaptureStream> {
        match stream {
            0 => Ok(self.capture.main()),
            branch => self.capture.branch(branch - 1),
        }
    }

    fn frontier(&self, stream: usize) -> Vec<u64> {
        if self.capture.is_dry() { Vec::new() } else { frontier(&self.world.streams[stream]) }
    }

    /// Returns the node that was added last on a stream; `None` in a dry run.
    fn put_on(&self, stream: usize) -> Option<u64> {
        let nodes = self.frontier(stream);
        assert_eq!(nodes.len(), usize::from(!self.capture.is_dry()), "what was put there is last");
        nodes.first().copied()
    }

    fn run<'v>(
        &mut self,
        steps: &[Step],
        views: &mut Vec<View<'v>>,
        scope: Option<(usize, &'v Scope<'_, Cuda>)>,
    ) -> Result {
        for step in steps {
            match *step {
                Step::Take { on, granules, fills } => self.take(on, granules, fills)?,
                Step::Drop { which } => self.drop_one(which),
                Step::Fill { on, which, by_hand } => self.fill(on, which, by_hand)?,
                Step::Copy { on, to, from } => self.copy(on, to, from)?,
                Step::Wait { later, earlier } => {
                    self.capture.wait(self.name(later)?, self.name(earlier)?)?;
                }
                Step::Lend { on, which, forgets, ref steps } => {
                    self.lend((on, which, forgets), steps, views, scope)?;
                }
                Step::Scope { on, ref steps } => self.scope(on, steps, views)?,
                Step::View { granules } => {
                    let Some((on, scope)) = scope else { continue };
                    let view = self.view(on, granules, scope)?;
                    views.push(view);
                }
                Step::FillView { which, by } => self.fill_view(which, by, views, scope)?,
                Step::CopyView { to, from, by } => self.copy_view(to, from, by, views)?,
                Step::Join { later, earlier } => self.join(later, earlier)?,
            }
        }
        Ok(())
    }

    fn take(&mut self, on: usize, granules: usize, fills: bool) -> Result {
        let view = self.capture.acquire::<f32>((self.name(on)?, granules * 64))?;
        let (address, taken_at) = (view.address(), self.frontier(on));
        let region = self.log.take(Life { address, taken_at, ..Life::default() });
        self.temporaries.push(Held { view, memory: Memory::Region(region) });
        if fills { self.fill(on, BLOCKS + self.temporaries.len() - 1, false) } else { Ok(()) }
    }

    /// Drops a temporary. Every second call drops the most recent one, so that an arena that
    /// rewinds can reuse its bytes.
    fn drop_one(&mut self, which: usize) {
        let Some(last) = self.temporaries.len().checked_sub(1) else { return };
        let held = if which.is_multiple_of(2) { last } else { which % (last + 1) };
        let held = self.temporaries.swap_remove(held);
        if let Memory::Region(region) = held.memory {
            self.log.release(region);
        }
    }

    /// Picks a block that is not lent, or a temporary. A temporary is removed until it is [put
    /// back](Self::put_back).
    fn pick(&mut self, which: usize) -> Result<Option<Held<'c>>> {
        let index = which % (BLOCKS + self.temporaries.len());
        if let Some(place) = index.checked_sub(BLOCKS) {
            return Ok(Some(self.temporaries.swap_remove(place)));
        }
        if self.lent[index] {
            return Ok(None);
        }
        let view = self.capture.block::<f32>(&self.world.blocks[index])?;
        Ok(Some(Held { view, memory: Memory::Block(index) }))
    }

    fn put_back(&mut self, held: Held<'c>) {
        if let Memory::Region(_) = held.memory {
            self.temporaries.push(held);
        }
    }

    fn fill(&mut self, on: usize, which: usize, by_hand: bool) -> Result {
        let stream = self.name(on)?;
        let Some(mut held) = self.pick(which)? else { return Ok(()) };
        if by_hand {
            let (address, bytes) = (held.view.address(), held.view.len() * size_of::<f32>());
            let set = |stream: &Arc<CudaStream>| {
                // SAFETY: the bytes belong to the view.
                unsafe { result::memset_d8_async(address, 1, bytes, stream.cu_stream()) }?;
                Ok(())
            };
            // SAFETY: the work only writes its view, on this stream.
            unsafe { self.capture.enqueue(stream, &[held.view.write()], set) }?;
        } else {
            self.capture.fill_bytes(stream, &mut held.view, 2)?;
        }
        let node = self.put_on(on);
        self.log.note(held.memory, node, true);
        self.put_back(held);
        Ok(())
    }

    fn copy(&mut self, on: usize, to: usize, from: usize) -> Result {
        let stream = self.name(on)?;
        let Some(mut target) = self.pick(to)? else { return Ok(()) };
        let source = self.pick(from)?;
        let fits = |source: &&Held<'_>| {
            source.memory != target.memory && source.view.len() == target.view.len()
        };
        if let Some(source) = source.as_ref().filter(fits) {
            self.capture.copy(stream, &mut target.view, &source.view)?;
            let node = self.put_on(on);
            self.log.note(source.memory, node, false);
            self.log.note(target.memory, node, true);
        }
        source.into_iter().for_each(|source| self.put_back(source));
        self.put_back(target);
        Ok(())
    }

    fn lend<'v>(
        &mut self,
        (on, which, forgets): (usize, usize, bool),
        steps: &[Step],
        views: &mut Vec<View<'v>>,
        scope: Option<(usize, &'v Scope<'_, Cuda>)>,
    ) -> Result {
        let stream = self.name(on)?;
        let Some(mut held) = self.pick(which)? else { return Ok(()) };
        let memory = held.memory;
        let mut loan = self.capture.lend(stream, &mut held.view)?;
        self.guards[on] += 1;
        if let Memory::Block(block) = memory {
            self.lent[block] = true;
        }
        {
            let mut views = reborrowed(views);
            views.push(View { view: loan.view_mut()?, memory, on });
            self.run(steps, &mut views, scope)?;
        }
        if let (true, Memory::Region(region)) = (forgets && self.world.forgets, memory) {
            self.log.lives[region].is_kept = true;
            std::mem::forget(loan);
            return Ok(());
        }
        drop(loan);
        self.guards[on] -= 1;
        match memory {
            Memory::Block(block) => self.lent[block] = false,
            Memory::Region(region) => {
                let returned_at = self.frontier(on);
                self.log.lives[region].returned_at.push(returned_at);
            }
        }
        self.put_back(held);
        Ok(())
    }

    fn scope(&mut self, on: usize, steps: &[Step], views: &mut [View<'_>]) -> Result {
        if std::mem::replace(&mut self.scopes[on], true) {
            return Ok(());
        }
        self.guards[on] += 1;
        self.capture.scope(self.name(on)?, |scope| {
            let mut views = reborrowed(views);
            self.run(steps, &mut views, Some((on, &*scope)))
        })?;
        self.guards[on] -= 1;
        self.scopes[on] = false;
        Ok(())
    }

    fn view<'v>(
        &mut self,
        on: usize,
        granules: usize,
        scope: &'v Scope<'_, Cuda>,
    ) -> Result<View<'v>> {
        // Its pool takes a larger block before it waits for the users of the smaller one.
        let taken_at = self.frontier(on);
        let view = scope.try_acquire::<f32, _>(granules * 64 - 64 + ELEMENTS)?;
        let address = view.address();
        let known = self.log.lives.iter().position(|life| life.address == address && life.is_kept);
        let region = match self.capture.is_dry() {
            true => known.unwrap_or(self.log.lives.len()),
            false => self.log.views[self.log.next_view],
        };
        if self.capture.is_dry() {
            self.log.views.push(region);
        }
        self.log.next_view += 1;
        if region == self.log.lives.len() {
            self.log.take(Life {
                address,
                taken_at,
                is_kept: true,
                pool: Some(on),
                ..Life::default()
            });
        }
        Ok(View { view, memory: Memory::Region(region), on })
    }

    fn fill_view(
        &mut self,
        which: usize,
        by: By,
        views: &mut [View<'_>],
        scope: Option<(usize, &Scope<'_, Cuda>)>,
    ) -> Result {
        let Some(index) = which.checked_rem(views.len()) else { return Ok(()) };
        let one = &mut views[index];
        let node = match (by, scope, &self.world.fill) {
            (By::Cudarc(_), ..) if self.capture.is_dry() => None,
            (By::Cudarc(stream), ..) => {
                self.world.streams[stream].memset_zeros(&mut one.view)?;
                self.put_on(stream)
            }
            (By::Launch, Some((on, scope)), Some(fill)) if on == one.on => {
                let (value, count) = (1.0_f32, one.view.len() as u64);
                let mut launch = scope.launch(fill);
                launch.arg(&mut one.view).arg(&value).arg(&count);
                // SAFETY: the arguments match `FILL`, and the view has 64 elements.
                unsafe { launch.launch(LaunchConfig::for_num_elems(64)) }?;
                self.put_on(on)
            }
            _ => {
                one.view.fill_with_value(3.0)?;
                self.put_on(one.on)
            }
        };
        self.log.note(one.memory, node, true);
        Ok(())
    }

    fn copy_view(&mut self, to: usize, from: usize, by: By, views: &mut [View<'_>]) -> Result {
        let count = views.len();
        if count < 2 || to % count == from % count {
            return Ok(());
        }
        let Ok([target, source]) = views.get_disjoint_mut([to % count, from % count]) else {
            return Ok(());
        };
        let elements = target.view.len().min(source.view.len());
        let (mut written, _) = target.view.reborrow().into_split_at(elements).unwrap();
        let (read, _) = source.view.as_view().into_split_at(elements).unwrap();
        let node = match by {
            By::Cudarc(_) if self.capture.is_dry() => None,
            By::Cudarc(stream) => {
                self.world.streams[stream].memcpy_dtod(&read, &mut written)?;
                self.put_on(stream)
            }
            _ => {
                written.copy_from(read)?;
                self.put_on(target.on)
            }
        };
        self.log.note(source.memory, node, false);
        self.log.note(target.memory, node, true);
        Ok(())
    }

    fn join(&mut self, later: usize, earlier: usize) -> Result {
        let are_open = self.guards[later] > 0 && self.guards[earlier] > 0;
        if are_open && later != earlier && !self.capture.is_dry() {
            self.world.streams[later].join(&self.world.streams[earlier])?;
        }
        Ok(())
    }
}
