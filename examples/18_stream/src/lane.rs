//! A camera together with the source of its temporaries.

use std::time::Instant;

use pool_facade::prelude::*;

use crate::Failure;
use crate::camera::Camera;
use crate::clock;
use crate::frame::frame;
use crate::heap;
use crate::record::Record;
use crate::scratch;
use crate::size::Size;
use crate::sources::heap::Heap;
use crate::sources::kept::Kept;
#[cfg(feature = "wgpu")]
use crate::sources::on_wgpu::OnWgpu;

/// The source of temporaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum TemporarySource {
    /// The pool of the thread that processes the frame.
    Pool,
    /// The stack of the thread that processes the frame.
    Stacked,
    /// A new `Vec` for each temporary.
    Vec,
    /// Buffers that belong to the camera and are kept by hand.
    Kept,
    /// An arena that belongs to the camera.
    #[cfg(feature = "bump-scope")]
    BumpScope,
    /// The pool of a wgpu device for the steps before the flow, and the thread's pool for the
    /// others.
    #[cfg(feature = "wgpu")]
    Wgpu,
}

/// A camera's program with one source of temporaries.
#[derive(Debug)]
pub struct Lane {
    camera: Camera,
    source: Source,
}

#[derive(Debug)]
enum Source {
    Pool,
    Stacked,
    Heap,
    Kept(Box<Kept>),
    #[cfg(feature = "bump-scope")]
    Arena(bump_scope::Bump),
    /// The device is opened for the first frame.
    #[cfg(feature = "wgpu")]
    Wgpu(Option<Box<OnWgpu>>),
}

impl Lane {
    /// Creates a camera for frames of one size.
    #[must_use]
    pub fn new(source: TemporarySource, size: Size) -> Self {
        let source = match source {
            TemporarySource::Pool => Source::Pool,
            TemporarySource::Stacked => Source::Stacked,
            TemporarySource::Vec => Source::Heap,
            TemporarySource::Kept => Source::Kept(Box::new(Kept::new(size))),
            #[cfg(feature = "bump-scope")]
            TemporarySource::BumpScope => Source::Arena(bump_scope::Bump::new()),
            #[cfg(feature = "wgpu")]
            TemporarySource::Wgpu => Source::Wgpu(None),
        };
        Self { camera: Camera::new(size), source }
    }

    /// Returns the camera, which holds the last frame's picture.
    #[must_use]
    pub fn camera(&self) -> &Camera {
        &self.camera
    }

    /// Processes one frame.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are not a frame of the camera's size, or if wgpu is requested and there
    /// is no adapter.
    pub fn frame(&mut self, encoded: &[u8]) -> Result<(), Failure> {
        let camera = &mut self.camera;
        match &mut self.source {
            Source::Pool => with_pool!(|scope| { frame(&mut scope, encoded, camera) }),
            Source::Stacked => {
                with_pool!(Stacked<Cpu>, |scope| { frame(&mut scope, encoded, camera) })
            }
            Source::Heap => frame(&mut Heap, encoded, camera),
            Source::Kept(kept) => kept.frame(encoded, camera),
            #[cfg(feature = "bump-scope")]
            Source::Arena(bump) => {
                let outcome = bump.scoped(|scope| frame(scope, encoded, camera));
                // The scopes of this arena do not merge its chunks, so the arena is reset.
                bump.reset();
                outcome
            }
            #[cfg(feature = "wgpu")]
            Source::Wgpu(opened) => {
                let device = match opened {
                    Some(device) => device,
                    None => opened.insert(Box::new(OnWgpu::open()?)),
                };
                device.frame(encoded, camera)
            }
        }
    }

    /// Returns the statistics of this thread's pool, if the camera uses one.
    fn pool(&self) -> Option<PoolStats> {
        match self.source {
            Source::Pool => Some(local::<Cpu>().stats()),
            Source::Stacked => Some(local::<Stacked<Cpu>>().stats()),
            _ => None,
        }
    }

    /// Returns the bytes that this thread's pool or the arena holds for temporaries, if the camera
    /// uses one.
    #[must_use]
    pub fn reserved(&self) -> Option<usize> {
        match &self.source {
            #[cfg(feature = "bump-scope")]
            Source::Arena(bump) => Some(bump.stats().size()),
            _ => self.pool().map(|pool| pool.reserved_bytes),
        }
    }

    /// Processes one frame and returns its cost, except for the bytes held by the process.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are not a frame of the camera's size, or if wgpu is requested and there
    /// is no adapter.
    pub fn measured(&mut self, encoded: &[u8]) -> Result<Record, Failure> {
        scratch::addresses();
        let (faults, requests) = (clock::minor_faults(), heap::requests());
        let (start, processor) = (Instant::now(), clock::thread_time());
        self.frame(encoded)?;
        let (wall, processor) = (start.elapsed(), clock::thread_time() - processor);
        let (faults_after, requests_after) = (clock::minor_faults(), heap::requests());
        let pool = self.pool();
        Ok(Record {
            wall: u64::try_from(wall.as_nanos())?,
            processor,
            faults: faults_after.zip(faults).map(|(after, before)| after - before),
            allocations: requests_after - requests,
            addresses: scratch::addresses(),
            held: None,
            reserved: pool.map(|pool| (pool.reserved_bytes + pool.bookkeeping_bytes) as u64),
            live: pool.and_then(|pool| pool.peak_live_bytes).map(|live| live as u64),
            checksum: self.camera.checksum(),
        })
    }
}
