//! Interference by code that also holds the streams of a session and a second handle of its arena.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use cuda_sim_control::Simulator;
use cudarc::driver::CudaStream;
use pool_graph::CudaArena;

use super::N;
use super::steps::Meddling;
use crate::common::{NO_FLAGS, RELAXED};
use crate::hand_made::Foreign;

pub(super) struct Meddler {
    pub(super) streams: [Arc<CudaStream>; 2],
    /// The foreign objects for each stream.
    foreign: [Foreign; 2],
    /// A second handle of the arena, and the address at which the arena starts.
    pub(super) arena: OnceLock<(CudaArena, u64)>,
    /// `true` while there is a capture with which to interfere.
    armed: AtomicBool,
}

impl Meddler {
    pub(super) fn new(streams: [&Arc<CudaStream>; 2]) -> Arc<Self> {
        let foreign = streams.map(Foreign::new);
        let armed = AtomicBool::new(true);
        let (streams, arena) = (streams.map(Arc::clone), OnceLock::new());
        Arc::new(Self { streams, foreign, arena, armed })
    }

    /// Ends the interference once the capture has ended.
    pub(super) fn leave(&self) {
        self.armed.store(false, Ordering::SeqCst);
        for stream in &self.streams {
            if pool_driver::capture::is_capturing(stream).unwrap() {
                let _ = stream.end_capture(NO_FLAGS);
            }
        }
    }

    /// Interferes now, or at the driver's next call.
    pub(super) fn meddle(self: &Arc<Self>, meddling: Meddling) {
        match meddling {
            Meddling::EndRegions => self.end_regions(),
            Meddling::EndCapture { stream } => {
                if let Ok(Some(graph)) = self.streams[stream].end_capture(NO_FLAGS) {
                    let _ = graph.launch();
                }
            }
            Meddling::BeginCapture { stream } => drop(self.streams[stream].begin_capture(RELAXED)),
            Meddling::Join { stream } => {
                let _ = self.streams[stream].join(&self.streams[1 - stream]);
            }
            Meddling::Put { stream, kind } => drop(self.foreign[stream].try_put(kind)),
            Meddling::PutBefore { call, stream, kind } => {
                let own = Arc::downgrade(self);
                let put = move || {
                    let own = own.upgrade().filter(|own| own.armed.load(Ordering::SeqCst));
                    own.map(|own| own.foreign[stream].try_put(kind))
                };
                let by_another = move || drop(std::thread::spawn(put).join());
                Simulator::attach().unwrap().before_call(call, 1, by_another);
            }
        }
    }

    fn end_regions(&self) {
        let Some((arena, begin)) = self.arena.get() else { return };
        for region in 0..8 {
            let _ended = arena.deallocate(begin + region * N as u64);
        }
    }
}
