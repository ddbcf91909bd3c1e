//! The compiler: NVRTC's C functions, from a library of a known path.
//!
//! cudarc has them too, and takes whichever NVRTC the dynamic loader finds; here it must be the pinned one.
//!
//! This module alone is unsafe. Its proofs rely on this:
//!
//! 1. **The library is NVRTC 12**: it was downloaded with a SHA-256. The types here are those of its
//!    header, `nvrtc.h`.
//! 2. **It is never closed while one of its functions is used**: functions are looked up for one call.
//! 3. **Pointers are good for the call**: texts end with a zero, arrays and buffers have the stated lengths, and NVRTC
//!    copies all data that it keeps.

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

/// The loaded compiler. Threads may use it at the same time: NVRTC's functions lock their shared state.
#[derive(Debug)]
pub struct Compiler {
    library: Library,
    /// Opened before NVRTC opens it by its name.
    _builtins: Library,
}

/// A program that is being compiled.
struct Program<'c> {
    compiler: &'c Compiler,
    handle: Handle,
}

impl Compiler {
    /// Opens it.
    ///
    /// # Errors
    ///
    /// Fails if a library cannot be opened.
    pub fn open(toolkit: &Toolkit) -> Result<Self, TaskError> {
        let open = |path: &Path| {
            // SAFETY: it is a library of NVRTC (1), whose initialisers need nothing.
            unsafe { Library::new(path) }
        };
        let builtins = open(&toolkit.builtins)?;
        Ok(Self { library: open(&toolkit.compiler)?, _builtins: builtins })
    }

    /// Returns the PTX of a source, and the compiler's messages. Source and headers are names with their texts.
    ///
    /// # Errors
    ///
    /// The compiler's errors, with file and line.
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
        // SAFETY: the program is a live one, and the number of options is the one that is passed (3).
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
        // SAFETY: all texts live until the call returns, and both arrays are as long as is said (3).
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
        // SAFETY: each caller names the type that the header declares for the function (1); the symbol
        // borrows the library (2).
        Ok(unsafe { self.library.get::<T>(name.to_bytes_with_nul()) }?)
    }
}

impl Program<'_> {
    /// A text of the program, by the functions that tell its size and write it.
    fn text(&self, size: &CStr, write: &CStr) -> Result<String, TaskError> {
        let ask: libloading::Symbol<'_, Size> = self.compiler.function(size)?;
        let mut bytes = 0;
        // SAFETY: the program is a live one, and the place outlives the call (3).
        succeeded(size, unsafe { ask(self.handle, &raw mut bytes) })?;
        let mut buffer = vec![0_u8; bytes];
        let copy: libloading::Symbol<'_, Text> = self.compiler.function(write)?;
        // SAFETY: the buffer is as long as the program asked for (3).
        succeeded(write, unsafe { copy(self.handle, buffer.as_mut_ptr().cast()) })?;
        Ok(CStr::from_bytes_until_nul(&buffer)?.to_str()?.to_owned())
    }
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        let Ok(destroy) = self.compiler.function::<Destroy>(c"nvrtcDestroyProgram") else { return };
        // SAFETY: the program is a live one, and no code uses it after this.
        unsafe { destroy(&raw mut self.handle) };
    }
}

fn succeeded(call: &CStr, code: Code) -> Result<(), TaskError> {
    if code == 0 {
        return Ok(());
    }
    Err(format!("{} answers {code}", call.to_string_lossy()).into())
}
