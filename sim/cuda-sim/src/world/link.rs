//! Linking combines the PTX of several modules into one image that can be loaded.
//!
//! The image of a real driver is machine code. The simulator's image is the text of the modules,
//! which only the simulator accepts.

use std::collections::HashMap;

use super::World;
use super::state::handle::Kind;
use super::state::link::{Input, Link, Log};
use crate::code::{Code, Outcome, unmodelled};
use crate::ptx::{self, PtxError, Space};
use crate::report::Mistake;

impl World {
    pub(crate) fn begin_link(&mut self, thread: u64, log: Log) -> Outcome<u64> {
        self.current(thread)?;
        let link = Link { lives: true, texts: Vec::new(), image: None, log };
        self.links.push(link);
        self.write_log(self.links.len() - 1, "");
        Ok(self.handles.make(Kind::Link, self.links.len() - 1))
    }

    fn link(&mut self, handle: u64) -> Outcome<usize> {
        self.initialized()?;
        self.find(Kind::Link, handle, "use of a link")
    }

    /// Adds a module after parsing it.
    pub(crate) fn add_to_link(&mut self, handle: u64, input: Input) -> Outcome<()> {
        let link = self.link(handle)?;
        if self.links[link].image.is_some() {
            return Err(Code::INVALID_VALUE);
        }
        let text = match input {
            Input::Text(text) => text,
            Input::Other(what) => {
                self.write_log(link, &format!("the simulated CUDA driver does not link {what}"));
                return Err(unmodelled(&format!("linking {what}")));
            }
        };
        let read = self.read_module(&text);
        self.told(link, read)?;
        self.links[link].texts.push(text);
        Ok(())
    }

    /// Builds the image and returns its bytes.
    pub(crate) fn complete_link(&mut self, handle: u64) -> Outcome<&[u8]> {
        let link = self.link(handle)?;
        if self.links[link].image.is_none() {
            let linked = self.linked(link);
            let text = self.told(link, linked)?;
            self.links[link].image = Some([text.as_bytes(), &[0]].concat());
        }
        Ok(self.links[link].image.as_deref().unwrap_or_default())
    }

    fn linked(&mut self, link: usize) -> Outcome<String> {
        let texts = self.links[link].texts.clone();
        if texts.is_empty() {
            return Err(Code::INVALID_VALUE);
        }
        let image = ptx::linked_image(&texts);
        let image = image.map_err(|error| self.refuse_module(&error, ""))?;
        let module = self.read_module(&image)?;
        self.try_to_decode(&module, &image)?;
        Ok(image)
    }

    pub(crate) fn end_link(&mut self, handle: u64) -> Outcome<()> {
        let link = self.link(handle)?;
        let own = &mut self.links[link];
        (own.lives, own.image) = (false, None);
        own.texts.clear();
        Ok(())
    }

    /// Decodes a module that is not loaded yet, so unknown constructs are reported during linking.
    pub(super) fn try_to_decode(&mut self, module: &ptx::Module, text: &str) -> Outcome<()> {
        let of_memory = |one: &&ptx::Variable| matches!(one.space, Space::Global | Space::Const);
        let variables = module.variables.iter().filter(of_memory);
        if let Some(missing) = variables.clone().find(|one| one.linkage == ptx::Linkage::External) {
            let what = format!("`{}` is defined in no module", missing.name);
            return Err(self.refuse_module(&PtxError::new(missing.line, what), text));
        }
        let addresses: HashMap<String, u64> =
            variables.map(|variable| (variable.name.clone(), 0)).collect();
        let decoded = ptx::programs(module, &addresses, text);
        decoded.map(drop).map_err(|error| self.refuse_module(&error, text))
    }

    /// If the outcome is an error, writes its report into the caller's log.
    fn told<T>(&mut self, link: usize, outcome: Outcome<T>) -> Outcome<T> {
        if outcome.is_err() {
            let text = self.reports.last(Mistake::InvalidPtx).unwrap_or_default();
            self.write_log(link, &text);
        }
        outcome
    }

    /// Writes as much of a text as fits into the log, and a terminating zero byte.
    fn write_log(&self, link: usize, text: &str) {
        let Log { address, bytes, length } = self.links[link].log;
        let kept = text.len().min(bytes.saturating_sub(1));
        if address != 0 && bytes > 0 {
            self.host.write(address, &[&text.as_bytes()[..kept], &[0]].concat());
        }
        if let Some(place) = length {
            self.host.write(place, &(kept as u64).to_le_bytes());
        }
    }
}
