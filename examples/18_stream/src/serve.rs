//! Processes frames on request. The measuring program writes numbers of frames, one per line, and
//! reads one line for each frame of each camera. Several programs can therefore be measured
//! alternately, each with its own allocator.

use std::io::{BufRead, Write};
use std::sync::{Mutex, PoisonError};

use crate::Failure;
use crate::churn::Churn;
use crate::film::Film;
use crate::lane::{Lane, TemporarySource};
use crate::record::Record;
use crate::resident::Resident;

/// A service that processes frames on request.
#[derive(Debug)]
pub(crate) struct Service {
    film: Film,
    lanes: Vec<Lane>,
    /// One worker per lane, if there are several lanes.
    workers: Option<rayon::ThreadPool>,
    churn: Option<Churn>,
    resident: Resident,
    resident_before: Option<i64>,
    /// The number of frames processed so far.
    frames: usize,
}

impl Service {
    /// Creates one camera per worker. A single worker is the calling thread.
    pub(crate) fn new(
        film: Film,
        source: TemporarySource,
        workers: usize,
        churns: bool,
    ) -> Result<Self, Failure> {
        let resident = Resident::new();
        let build = || rayon::ThreadPoolBuilder::new().num_threads(workers).build();
        let own_workers = (workers > 1).then(build).transpose()?;
        let churn = churns.then(Churn::new);
        let resident_before = resident.bytes();
        let lanes = (0..workers.max(1)).map(|_| Lane::new(source, film.size())).collect();
        Ok(Self { film, lanes, workers: own_workers, churn, resident, resident_before, frames: 0 })
    }

    /// Serves requests until the input ends.
    pub(crate) fn run(
        &mut self,
        requests: impl BufRead,
        mut answers: impl Write,
    ) -> Result<(), Failure> {
        for request in requests.lines() {
            let frames: usize = request?.trim().parse()?;
            let mut records = Vec::with_capacity(frames * self.lanes.len());
            self.churn.iter().for_each(|churn| churn.set(true));
            for _ in 0..frames {
                self.frame(&mut records)?;
            }
            self.churn.iter().for_each(|churn| churn.set(false));
            for record in records {
                writeln!(answers, "{record}")?;
            }
            answers.flush()?;
        }
        Ok(())
    }

    /// Processes the next frame of each camera.
    fn frame(&mut self, records: &mut Vec<Record>) -> Result<(), Failure> {
        let (film, number) = (&self.film, self.frames);
        let held = |record: Record, resident: &Resident| {
            let held = resident.bytes().zip(self.resident_before).map(|(now, before)| now - before);
            Record { held, ..record }
        };
        match &self.workers {
            None => {
                for lane in &mut self.lanes {
                    records.push(held(lane.measured(film.frame(number))?, &self.resident));
                }
            }
            Some(workers) => {
                // Each worker processes its own camera's frames. If workers stole frames from each
                // other, a worker's pool could see a frame for the first time in any iteration.
                let lanes: Vec<Mutex<&mut Lane>> = self.lanes.iter_mut().map(Mutex::new).collect();
                let measured = workers.broadcast(|worker| {
                    let lane = worker.index();
                    let mut own = lanes[lane].lock().unwrap_or_else(PoisonError::into_inner);
                    own.measured(film.frame(number + lane))
                });
                let measured: Result<Vec<Record>, Failure> = measured.into_iter().collect();
                records.extend(measured?.into_iter().map(|record| held(record, &self.resident)));
            }
        }
        self.frames += 1;
        Ok(())
    }

    /// Returns the first camera, which holds its last picture.
    pub(crate) fn lane(&self) -> Option<&Lane> {
        self.lanes.first()
    }
}
