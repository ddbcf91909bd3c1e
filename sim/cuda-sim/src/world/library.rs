//! Libraries: modules that belong to no context. A library is loaded as a module on each device
//! that needs it.

use super::World;
use super::state::handle::Kind;
use super::state::library::{Kernel, Library};
use crate::code::{Code, Outcome};

impl World {
    /// Parses a library. Errors are reported now, and not when a device first uses the library.
    pub(crate) fn load_library(&mut self, text: &str) -> Outcome<u64> {
        self.initialized()?;
        let module = self.read_module(text)?;
        self.try_to_decode(&module, text)?;
        let library = self.libraries.len();
        let first = self.kernels.len();
        let entries = module.functions.iter().filter(|one| one.is_entry && one.body.is_some());
        let kernels = entries.map(|entry| Kernel { library, name: entry.name.clone() });
        self.kernels.extend(kernels);
        let kernels = (first..self.kernels.len()).collect();
        let (text, instances) = (text.to_owned(), Vec::new());
        self.libraries.push(Library { lives: true, text, module, instances, kernels });
        Ok(self.handles.make(Kind::Library, library))
    }

    fn library(&mut self, handle: u64) -> Outcome<usize> {
        self.initialized()?;
        self.find(Kind::Library, handle, "use of a library")
    }

    /// Returns the devices whose work must have finished before a library is unloaded.
    pub(crate) fn devices_of_library(&mut self, handle: u64) -> Outcome<Vec<usize>> {
        let library = self.library(handle)?;
        let instances = self.libraries[library].instances.iter();
        Ok(instances.map(|module| self.modules[*module].device).collect())
    }

    pub(crate) fn unload_library(&mut self, handle: u64) -> Outcome<()> {
        let library = self.library(handle)?;
        self.libraries[library].lives = false;
        for module in std::mem::take(&mut self.libraries[library].instances) {
            if self.modules[module].lives {
                self.end_module(module);
            }
        }
        Ok(())
    }

    /// Returns the handles of the library's kernels.
    pub(crate) fn kernels_of_library(&mut self, handle: u64) -> Outcome<Vec<u64>> {
        let library = self.library(handle)?;
        let kernels = self.libraries[library].kernels.iter();
        Ok(kernels.map(|kernel| self.handles.make(Kind::Kernel, *kernel)).collect())
    }

    pub(crate) fn kernel_of_library(&mut self, handle: u64, name: &str) -> Outcome<u64> {
        let library = self.library(handle)?;
        let is_it = |kernel: &&usize| self.kernels[**kernel].name == name;
        let found = self.libraries[library].kernels.iter().find(is_it);
        Ok(self.handles.make(Kind::Kernel, *found.ok_or(Code::NOT_FOUND)?))
    }

    pub(crate) fn library_of_kernel(&mut self, handle: u64) -> Outcome<u64> {
        let kernel = self.find(Kind::Kernel, handle, "use of a kernel of a library")?;
        Ok(self.handles.make(Kind::Library, self.kernels[kernel].library))
    }

    /// Returns the module that represents the library on the thread's device.
    pub(crate) fn module_of_library(&mut self, thread: u64, handle: u64) -> Outcome<u64> {
        let (device, library) = (self.current(thread)?, self.library(handle)?);
        let module = self.instance(library, device)?;
        Ok(self.handles.make(Kind::Module, module))
    }

    /// Converts a kernel into a function of the thread's device. The handle of a function is
    /// returned unchanged.
    pub(crate) fn function_to_launch(&mut self, thread: u64, handle: u64) -> Outcome<u64> {
        if self.handles.index(Kind::Kernel, handle).is_none() {
            return Ok(handle);
        }
        let device = self.current(thread)?;
        self.function_of_kernel(handle, device)
    }

    /// Converts a kernel into a function of the device with this ordinal.
    pub(crate) fn function_on(&mut self, kernel: u64, ordinal: i32) -> Outcome<u64> {
        let device = self.device(ordinal)?;
        if !self.is_retained(device) {
            return Err(Code::INVALID_CONTEXT);
        }
        self.function_of_kernel(kernel, device)
    }

    fn function_of_kernel(&mut self, handle: u64, device: usize) -> Outcome<u64> {
        let kernel = self.find(Kind::Kernel, handle, "use of a kernel of a library")?;
        let (library, name) = (self.kernels[kernel].library, self.kernels[kernel].name.clone());
        let module = self.instance(library, device)?;
        self.function_of(self.handles.make(Kind::Module, module), &name)
    }

    /// Returns a library's module on a device. The first use loads the module.
    fn instance(&mut self, library: usize, device: usize) -> Outcome<usize> {
        let is_it = |module: &&usize| {
            let module = &self.modules[**module];
            module.lives && module.device == device
        };
        if let Some(found) = self.libraries[library].instances.iter().find(is_it) {
            return Ok(*found);
        }
        let own = &self.libraries[library];
        let (module, text) = (own.module.clone(), own.text.clone());
        let index = self.place_module(device, &module, &text)?;
        self.modules[index].is_of_a_library = true;
        self.libraries[library].instances.push(index);
        Ok(index)
    }
}
