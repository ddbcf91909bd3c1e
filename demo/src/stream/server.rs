//! A way's process: it processes the requested number of frames, and waits.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::Run;
use super::columns::{Column, Columns};
use super::record::Record;
use super::scenario::Scenario;
use crate::TaskError;

/// The process, and its records so far.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) column: Column,
    workers: usize,
    process: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    records: Vec<Record>,
}

impl Server {
    /// Starts the process. The pool's last picture is written to the folder.
    pub(super) fn start(
        columns: &Columns,
        column: Column,
        scenario: &Scenario,
        film: &Path,
        folder: &Path,
    ) -> Result<Self, TaskError> {
        let mut command = Command::new(columns.program(column));
        command.args(["serve", "--source", column.source]);
        command.args(["--workers", &scenario.workers.to_string()]);
        command.args(scenario.churn.then_some("--churn"));
        command.args(scenario.live.then_some("--live"));
        if column.is_pool() {
            command.arg("--picture").arg(folder.join(format!("stream-{}.png", scenario.name())));
        }
        command.arg(film).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn()?;
        let requests = process.stdin.take();
        let answers = process.stdout.take().ok_or("a process has no output")?;
        let answers = BufReader::new(answers);
        Ok(Self { column, workers: scenario.workers, process, requests, answers, records: vec![] })
    }

    /// Returns the number of frames so far, of each camera.
    pub(super) fn frames(&self) -> usize {
        self.records.len() / self.workers
    }

    /// Processes `frames` more frames.
    pub(super) fn work(&mut self, frames: usize) -> Result<(), TaskError> {
        let requests = self.requests.as_mut().ok_or("a process has no input")?;
        writeln!(requests, "{frames}")?;
        for _ in 0..frames * self.workers {
            let mut line = String::new();
            self.answers.read_line(&mut line)?;
            if line.is_empty() {
                return Err(format!("the process for {} ended early", self.column.name).into());
            }
            self.records.push(line.trim_end().parse()?);
        }
        Ok(())
    }

    /// Waits until the process has ended.
    pub(super) fn end(mut self) -> Result<Run, TaskError> {
        drop(self.requests.take());
        let status = self.process.wait()?;
        if !status.success() {
            return Err(format!("the process for {} ended with {status}", self.column.name).into());
        }
        Ok(Run { column: self.column, records: self.records })
    }
}
