//! Modules: parsed PTX, the memory of its variables, and its kernels.

use std::collections::HashMap;
use std::sync::Arc;

use super::World;
use super::state::exec::ExecNode;
use super::state::handle::Kind;
use super::state::memory::{Origin, PAGE, UNIT};
use super::state::module::{Function, Module};
use super::state::work::Work;
use crate::code::{Code, Outcome};
use crate::ptx::{self, Linkage, Program, PtxError, Space};
use crate::report::Mistake;

/// The compute capability of the simulated device.
const CAPABILITY: u32 = 90;

/// The newest `.version`, times ten, that each version of the CUDA driver accepts ("Release Notes"
/// of the PTX manual).
const NEWEST_PTX: &[(i32, u32)] = &[
    (13_000, 90),
    (12_090, 88),
    (12_080, 87),
    (12_070, 86),
    (12_050, 85),
    (12_040, 84),
    (12_030, 83),
    (12_020, 82),
    (12_010, 81),
];

fn newest_ptx(driver_version: i32) -> u32 {
    let newest = NEWEST_PTX.iter().find(|(since, _)| *since <= driver_version);
    newest.map_or(80, |(_, version)| *version)
}

/// The shared memory of a block in bytes: the default and the maximum.
pub(crate) const SHARED: usize = 48 << 10;

pub(crate) const SHARED_AT_MOST: usize = 227 << 10;

/// The maximum number of threads in a block.
pub(crate) const THREADS: u32 = 1024;

/// The maximum number of 32-bit registers for a block and for a thread.
const REGISTERS_OF_A_BLOCK: usize = 65_536;

const REGISTERS_OF_A_THREAD: usize = 255;

/// The attributes of functions, by their numbers in CUDA.
const MOST_THREADS: u32 = 0;

const SHARED_BYTES: u32 = 1;

const CONST_BYTES: u32 = 2;

const LOCAL_BYTES: u32 = 3;

const REGISTERS: u32 = 4;

const PTX_VERSION: u32 = 5;

const BINARY_VERSION: u32 = 6;

const CACHE_MODE: u32 = 7;

const DYNAMIC_LIMIT: u32 = 8;

const CARVEOUT: u32 = 9;

const FIRST_OF_CLUSTERS: u32 = 10;

const LAST_OF_CLUSTERS: u32 = 15;

impl World {
    /// Parses a module and allocates its variables.
    pub(crate) fn load_module(&mut self, thread: u64, text: &str) -> Outcome<u64> {
        let device = self.current(thread)?;
        let module = self.read_module(text)?;
        let index = self.place_module(device, &module, text)?;
        Ok(self.handles.make(Kind::Module, index))
    }

    /// Parses PTX that this driver and its devices support.
    pub(super) fn read_module(&mut self, text: &str) -> Outcome<ptx::Module> {
        if !text.contains(".version") {
            let what = "cuModuleLoadData: the image is no PTX; machine code is not modelled";
            self.reports.add(Mistake::InvalidPtx, what);
            return Err(Code::INVALID_IMAGE);
        }
        let module = ptx::parse(text).map_err(|error| self.refuse_module(&error, text))?;
        if module.version > newest_ptx(self.driver_version) {
            let what = format!("version {} is newer than the driver", module.version);
            self.refuse_module(&PtxError::new(0, what), text);
            return Err(Code::UNSUPPORTED_PTX_VERSION);
        }
        if module.target > CAPABILITY {
            let what = format!("sm_{} is newer than the device", module.target);
            return Err(self.refuse_module(&PtxError::new(0, what), text));
        }
        Ok(module)
    }

    /// Allocates the variables of a module and decodes its kernels.
    pub(super) fn place_module(
        &mut self,
        device: usize,
        module: &ptx::Module,
        text: &str,
    ) -> Outcome<usize> {
        let variables = self.allocate_variables(device, module, text)?;
        let made = self.make_kernels(module, &variables, text);
        let programs = match made {
            Ok(programs) => programs,
            Err(error) => {
                self.free_variables(device, &variables);
                return Err(self.refuse_module(&error, text));
            }
        };
        let constants = module.variables.iter().filter(|one| one.space == Space::Const);
        let constant_bytes = constants.map(|one| one.bytes).sum();
        let index = self.modules.len();
        let first = self.functions.len();
        self.functions.extend(programs.into_iter().map(|program| Function {
            lives: true,
            module: index,
            constant_bytes,
            dynamic_limit: SHARED.saturating_sub(program.shared_bytes),
            program: Arc::new(program),
        }));
        let functions = (first..self.functions.len()).collect();
        let is_of_a_library = false;
        self.modules.push(Module { lives: true, device, is_of_a_library, functions, variables });
        Ok(index)
    }

    pub(super) fn refuse_module(&mut self, error: &PtxError, text: &str) -> Code {
        self.reports.add(Mistake::InvalidPtx, &format!("module: {}", error.with_text(text)));
        Code::INVALID_PTX
    }

    fn allocate_variables(
        &mut self,
        device: usize,
        module: &ptx::Module,
        text: &str,
    ) -> Outcome<HashMap<String, (u64, usize)>> {
        let mut variables = HashMap::new();
        for variable in &module.variables {
            if !matches!(variable.space, Space::Global | Space::Const) {
                continue;
            }
            let trouble = if variable.linkage == Linkage::External || variable.bytes == 0 {
                let what = "a variable of another module, or of no size";
                Err(self.refuse_module(&PtxError::new(variable.line, what), text))
            } else {
                self.take(device, variable.bytes)
            };
            if let Err(code) = trouble {
                self.free_variables(device, &variables);
                return Err(code);
            }
            // Padding the size to a whole page makes the address sufficiently aligned.
            let least = if variable.align > UNIT { PAGE } else { 0 };
            let address = self.memory.fresh_address(variable.bytes.max(least));
            self.memory.allocate(address, variable.bytes, device, Origin::Module);
            variables.insert(variable.name.clone(), (address, variable.bytes));
        }
        Ok(variables)
    }

    /// Decodes the kernels, and writes the initial values of the variables.
    fn make_kernels(
        &mut self,
        module: &ptx::Module,
        variables: &HashMap<String, (u64, usize)>,
        text: &str,
    ) -> ptx::Reading<Vec<Program>> {
        let addresses: HashMap<String, u64> =
            variables.iter().map(|(name, (address, _))| (name.clone(), *address)).collect();
        let programs = ptx::programs(module, &addresses, text)?;
        for variable in &module.variables {
            let Some(address) = addresses.get(&variable.name) else { continue };
            let bytes = ptx::initial_bytes(variable, &addresses)?;
            if let Some(region) = self.memory.starting_at(*address) {
                self.memory.blocks[region.block].bytes = bytes;
            }
        }
        Ok(programs)
    }

    fn free_variables(&mut self, device: usize, variables: &HashMap<String, (u64, usize)>) {
        for (address, bytes) in variables.values() {
            if let Some(region) = self.memory.remove(*address) {
                self.give_back(device, *bytes);
                self.memory.drop_block(region.block);
            }
        }
    }

    fn module(&mut self, handle: u64) -> Outcome<usize> {
        self.initialized()?;
        self.find(Kind::Module, handle, "use of a module")
    }

    /// Returns the device whose work must have finished before a module is unloaded.
    pub(crate) fn device_of_module(&mut self, handle: u64) -> Outcome<usize> {
        let module = self.module(handle)?;
        let device = self.modules[module].device;
        self.devices[device].sticky.map_or(Ok(device), Err)
    }

    pub(crate) fn unload_module(&mut self, handle: u64) -> Outcome<()> {
        let module = self.module(handle)?;
        self.end_module(module);
        Ok(())
    }

    pub(crate) fn end_module(&mut self, module: usize) {
        let own = &mut self.modules[module];
        own.lives = false;
        let (device, variables) = (own.device, std::mem::take(&mut own.variables));
        for function in own.functions.clone() {
            self.functions[function].lives = false;
        }
        for (address, _) in variables.values() {
            if let Some(region) = self.memory.starting_at(*address) {
                self.note_end_by_host(region, "cuModuleUnload");
            }
        }
        self.free_variables(device, &variables);
    }

    /// Returns a kernel of an unloaded module among nodes.
    pub(super) fn unloaded_kernel(&self, nodes: &[ExecNode]) -> Option<usize> {
        nodes.iter().find_map(|node| match &node.work {
            Work::Kernel(call) if !self.functions[call.function].lives => Some(call.function),
            _ => None,
        })
    }

    /// Reports a use of a graph with such a kernel. Graphs do not keep modules loaded, and hardware
    /// crashes the process.
    pub(super) fn refuse_unloaded(&mut self, kernel: Option<usize>, what: &str) -> Outcome<()> {
        let Some(kernel) = kernel else { return Ok(()) };
        let name = &self.functions[kernel].program.name;
        let text = format!("{what}: a node is the kernel {name}, whose module was unloaded");
        self.reports.add(Mistake::StaleHandle, &text);
        Err(Code::INVALID_HANDLE)
    }

    pub(crate) fn function_of(&mut self, module: u64, name: &str) -> Outcome<u64> {
        let module = self.module(module)?;
        let is_it = |index: &&usize| self.functions[**index].program.name == name;
        let found = self.modules[module].functions.iter().find(is_it);
        let function = *found.ok_or(Code::NOT_FOUND)?;
        Ok(self.handles.make(Kind::Function, function))
    }

    /// Returns the address and the size of a variable.
    pub(crate) fn variable_of(&mut self, module: u64, name: &str) -> Outcome<(u64, usize)> {
        let module = self.module(module)?;
        self.modules[module].variables.get(name).copied().ok_or(Code::NOT_FOUND)
    }

    pub(crate) fn function(&mut self, handle: u64) -> Outcome<usize> {
        self.initialized()?;
        self.find(Kind::Function, handle, "use of a kernel of a module")
    }

    pub(crate) fn function_attribute(&mut self, handle: u64, attribute: u32) -> Outcome<i32> {
        let function = self.function(handle)?;
        let own = &self.functions[function];
        let program = &own.program;
        let value = match attribute {
            MOST_THREADS => most_threads(program) as usize,
            SHARED_BYTES => program.shared_bytes,
            CONST_BYTES => own.constant_bytes,
            LOCAL_BYTES => program.local_bytes,
            PTX_VERSION => program.version as usize,
            BINARY_VERSION => CAPABILITY as usize,
            DYNAMIC_LIMIT => own.dynamic_limit,
            CARVEOUT => return Ok(-1),
            REGISTERS => registers(program),
            // There are no caches and no clusters.
            CACHE_MODE | FIRST_OF_CLUSTERS..=LAST_OF_CLUSTERS => 0,
            _ => return Err(Code::INVALID_VALUE),
        };
        i32::try_from(value).map_err(|_| Code::UNKNOWN)
    }

    pub(crate) fn set_function_attribute(
        &mut self,
        handle: u64,
        attribute: u32,
        value: i32,
    ) -> Outcome<()> {
        let function = self.function(handle)?;
        let own = &mut self.functions[function];
        match attribute {
            DYNAMIC_LIMIT => {
                let bytes = usize::try_from(value).map_err(|_| Code::INVALID_VALUE)?;
                if bytes + own.program.shared_bytes > SHARED_AT_MOST {
                    return Err(Code::INVALID_VALUE);
                }
                own.dynamic_limit = bytes;
                Ok(())
            }
            // A hint about caches.
            CARVEOUT => Ok(()),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    /// Returns the number of a kernel's blocks that fit on a multiprocessor, limited by threads and
    /// shared memory. Registers are assumed to suffice, because only an assembler knows how many a
    /// kernel uses.
    pub(crate) fn occupancy(&mut self, handle: u64, threads: i32, shared: usize) -> Outcome<i32> {
        let function = self.function(handle)?;
        let threads = u32::try_from(threads).ok().filter(|threads| *threads > 0);
        let threads = threads.ok_or(Code::INVALID_VALUE)?;
        let own = &self.functions[function];
        if threads > most_threads(&own.program) || shared > own.dynamic_limit {
            return Ok(0);
        }
        let bytes = own.program.shared_bytes + shared + (1 << 10);
        let by_shared = (SHARED_AT_MOST + (1 << 10)) / bytes;
        let by_threads = 2048 / threads.next_multiple_of(32);
        let blocks = by_threads.min(32).min(u32::try_from(by_shared).unwrap_or(u32::MAX));
        i32::try_from(blocks).map_err(|_| Code::UNKNOWN)
    }
}

/// Returns the number of registers for a thread. Only an assembler knows the actual number, so this
/// is the number of registers that the PTX names. It is limited so that a block of the largest size
/// can run, because registers are assumed to suffice.
fn registers(program: &Program) -> usize {
    let most = REGISTERS_OF_A_BLOCK / most_threads(program).max(1) as usize;
    program.registers.min(most).min(REGISTERS_OF_A_THREAD)
}

/// Returns the largest number of threads that a kernel allows in a block.
pub(crate) fn most_threads(program: &Program) -> u32 {
    let product =
        |extents: [u32; 3]| extents.iter().fold(1_u32, |all, one| all.saturating_mul(*one));
    let declared = program.exact_threads.or(program.most_threads).map_or(THREADS, product);
    declared.min(THREADS)
}
