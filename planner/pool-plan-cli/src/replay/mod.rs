//! `pool-plan replay` replays a log and prints the report.

mod run;
mod sparkline;
mod table;

pub(super) use run::run;
