//! `pool-plan replay`: a log is replayed, and what is said of it is printed.

mod run;
mod sparkline;
mod table;

pub(super) use run::run;
