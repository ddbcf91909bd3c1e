//! The CUDA C++ compiler: NVRTC's C functions, loaded from a library at a known path.
//!
//! cudarc also binds these functions, but uses whichever NVRTC the dynamic loader finds. The tasks
//! need the pinned version.
//!
//! Only this module contains unsafe code. Its proofs rely on three facts:
//!
//! 1. **The library is NVRTC 12.** Its download was checked with a SHA-256 sum. The types declared
//!    here are those of its header, `nvrtc.h`.
//! 2. **The library is not closed while one of its functions is in use.** Each function is looked
//!    up for a single call.
//! 3. **Pointers are valid during the call.** Texts end with a zero byte, and arrays and buffers
//!    have the stated length. NVRTC copies the data that it keeps.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr;

use libloading::Library;

use tasks::TaskError;

use crate::toolkit::Toolkit;

type Code = c_int;
type Handle = *mut c_void;
type Create = unsafe extern "C" fn(
    *mut Handle,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> Code;
type Compile = unsafe extern "C" fn(Handle, c_int, *const *const c_char) -> Code;
type Size = unsafe extern "C" fn(Handle, *mut usize) -> Code;
type Text = unsafe extern "C" fn(Handle, *mut c_char) -> Code;
type Destroy = unsafe extern "C" fn(*mut Handle) -> Code;

/// The loaded compiler. Several threads may use it at the same time, because NVRTC locks its shared
/// state.
#[derive(Debug)]
pub struct Compiler {
    library: Library,
    /// The library that NVRTC looks up by name. It is opened first.
    _builtins: Library,
}

/// A program that is being compiled.
struct Program<'c> {
    compiler: &'c Compiler,
    handle: Handle,
}

impl Compiler {
    /// Opens the compiler's libraries.
    ///
    /// # Errors
    ///
    /// Fails if a library cannot be opened.
    pub fn open(toolkit: &Toolkit) -> Result<Self, TaskError> {
        let open = |path: &Path| {
            // SAFETY: the library belongs to NVRTC (1), and its initialisers have no preconditions.
            unsafe { Library::new(path) }
        };
        let builtins = open(&toolkit.builtins)?;
        Ok(Self { library: open(&toolkit.compiler)?, _builtins: builtins })
    }

    /// Returns the PTX for a source, and the compiler's messages. Source and headers are given as
    /// names with their texts.
    ///
    /// # Errors
    ///
    /// Returns the compiler's error with the file and the line.
    pub fn compile(
        &self,
        source: (&str, &str),
        headers: &[(&str, &str)],
        options: &[&str],
    ) -> Result<(String, String), TaskError> {
        let program = self.program(source, headers)?;
        let options = options.iter().map(|option| CString::new(*option));
        let options = options.collect::<Result<Vec<_>, _>>()?;
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let compile: libloading::Symbol<'_, Compile> = self.function(c"nvrtcCompileProgram")?;
        let count = c_int::try_from(pointers.len())?;
        // SAFETY: the program is live.
        // The array has `count` options (3).
        let code = unsafe { compile(program.handle, count, pointers.as_ptr()) };
        let log = program.text(c"nvrtcGetProgramLogSize", c"nvrtcGetProgramLog")?;
        if code != 0 {
            return Err(format!("{}, code {code}:\n{log}", source.0).into());
        }
        Ok((program.text(c"nvrtcGetPTXSize", c"nvrtcGetPTX")?, log))
    }

    fn program(
        &self,
        (name, text): (&str, &str),
        headers: &[(&str, &str)],
    ) -> Result<Program<'_>, TaskError> {
        let names = headers.iter().map(|(name, _)| CString::new(*name));
        let texts = headers.iter().map(|(_, text)| CString::new(*text));
        let (names, texts) =
            (names.collect::<Result<Vec<_>, _>>()?, texts.collect::<Result<Vec<_>, _>>()?);
        let pointers = |texts: &[CString]| texts.iter().map(|text| text.as_ptr()).collect();
        let (name_pointers, text_pointers): (Vec<_>, Vec<_>) = (pointers(&names), pointers(&texts));
        let (name, source) = (CString::new(name)?, CString::new(text)?);
        let create: libloading::Symbol<'_, Create> = self.function(c"nvrtcCreateProgram")?;
        let mut handle = ptr::null_mut();
        // SAFETY: all texts live until the call returns.
        // Both arrays have the stated length (3).
        let code = unsafe {
            create(
                &raw mut handle,
                source.as_ptr(),
                name.as_ptr(),
                c_int::try_from(headers.len())?,
                text_pointers.as_ptr(),
                name_pointers.as_ptr(),
            )
        };
        succeeded(c"nvrtcCreateProgram", code)?;
        Ok(Program { compiler: self, handle })
    }

    fn function<T>(&self, name: &CStr) -> Result<libloading::Symbol<'_, T>, TaskError> {
        // SAFETY: each caller passes the type that the header declares for the function (1).
        // The symbol borrows the library (2).
        Ok(unsafe { self.library.get::<T>(name.to_bytes_with_nul()) }?)
    }
}

impl Program<'_> {
    /// Returns a text of the program. One function returns its size, and another writes it.
    fn text(&self, size: &CStr, write: &CStr) -> Result<String, TaskError> {
        let ask: libloading::Symbol<'_, Size> = self.compiler.function(size)?;
        let mut bytes = 0;
        // SAFETY: the program is live, and the output variable outlives the call (3).
        succeeded(size, unsafe { ask(self.handle, &raw mut bytes) })?;
        let mut buffer = vec![0_u8; bytes];
        let copy: libloading::Symbol<'_, Text> = self.compiler.function(write)?;
        // SAFETY: the buffer has the length that NVRTC returned for the program (3).
        succeeded(write, unsafe { copy(self.handle, buffer.as_mut_ptr().cast()) })?;
        Ok(CStr::from_bytes_until_nul(&buffer)?.to_str()?.to_owned())
    }
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        let Ok(destroy) = self.compiler.function::<Destroy>(c"nvrtcDestroyProgram") else { return };
        // SAFETY: the program is live, and no code uses it afterwards.
        unsafe { destroy(&raw mut self.handle) };
    }
}

fn succeeded(call: &CStr, code: Code) -> Result<(), TaskError> {
    if code == 0 {
        return Ok(());
    }
    Err(format!("{} returned {code}", call.to_string_lossy()).into())
}
