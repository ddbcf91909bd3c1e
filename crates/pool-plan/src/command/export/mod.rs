//! `pool-plan export`: a log as a snapshot for PyTorch's viewer, a trace for Perfetto, a problem, a log or a picture.

mod memory_viz;
mod perfetto;
mod pickler;
mod picture;
mod problem;
mod recording;
mod run;

#[cfg(test)]
mod tests;

pub(crate) use run::run;
