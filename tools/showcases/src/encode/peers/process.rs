//! The process of an encoder. It encodes the sentences as often as requested, and waits in between.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use super::agreement::numbers;
use super::forward::Forward;
use super::run::Run;
use super::way::Way;
use tasks::TaskError;

/// A running process, and what it has reported so far.
#[derive(Debug)]
pub(super) struct Process<'w> {
    way: &'w Way,
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    forwards: Vec<Forward>,
    numbers: PathBuf,
}

impl<'w> Process<'w> {
    /// Starts the process. Its final output is written to a file in the folder and read from that
    /// file.
    pub(super) fn start(way: &'w Way, sentences: &Path, folder: &Path) -> Result<Self, TaskError> {
        let numbers = folder.join(format!("{}.numbers", way.name.replace(' ', "-")));
        let mut command = way.command();
        command.arg("--sentences").arg(sentences).arg("--numbers").arg(&numbers);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let requests = child.stdin.take();
        let answers = child.stdout.take().ok_or("a process has no output")?;
        let answers = BufReader::new(answers);
        Ok(Self { way, child, requests, answers, forwards: vec![], numbers })
    }

    pub(super) fn name(&self) -> &str {
        &self.way.name
    }

    /// Makes the process encode the sentences `forwards` more times. `counts` is `false` for a
    /// warm-up.
    pub(super) fn work(&mut self, forwards: usize, counts: bool) -> Result<(), TaskError> {
        let requests = self.requests.as_mut().ok_or("a process has no input")?;
        writeln!(requests, "{forwards}")?;
        for _ in 0..forwards {
            let mut line = String::new();
            self.answers.read_line(&mut line)?;
            if line.is_empty() {
                return Err(format!("{} ended early", self.way.name).into());
            }
            let forward: Forward = line.trim_end().parse()?;
            self.forwards.extend(counts.then_some(forward));
        }
        Ok(())
    }

    /// Waits until the process has ended.
    pub(super) fn end(mut self) -> Result<Run, TaskError> {
        drop(self.requests.take());
        let status = self.child.wait()?;
        if !status.success() {
            return Err(format!("{} ended with {status}", self.way.name).into());
        }
        let numbers = numbers(&fs::read(&self.numbers)?)?;
        fs::remove_file(&self.numbers)?;
        Ok(Run { name: self.way.name.clone(), forwards: self.forwards, numbers })
    }
}
