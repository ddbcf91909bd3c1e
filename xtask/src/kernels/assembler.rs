//! `ptxas`: checks that a device accepts the PTX, and reports what each kernel needs on that
//! device.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::TaskError;
use cuda_tasks::Toolkit;

/// The resources that a kernel needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Need {
    pub(super) kernel: String,
    /// The number of registers for each thread.
    pub(super) registers: u32,
    /// The number of bytes that a thread stores in memory because it has too few registers.
    pub(super) spilled: u32,
    /// The number of bytes of shared memory for each block.
    pub(super) shared: u32,
}

/// Assembles a file for an architecture such as `sm_80`. Returns what its kernels need, ordered by
/// name.
///
/// # Errors
///
/// Returns the message of `ptxas`, or an error if it lists no kernel.
pub(super) fn assemble(
    toolkit: &Toolkit,
    file: &Path,
    architecture: &str,
) -> Result<Vec<Need>, TaskError> {
    let answer = Command::new(&toolkit.assembler)
        .args(["--verbose", "--warning-as-error", "--gpu-name", architecture, "--output-file"])
        .arg(if cfg!(windows) { "NUL" } else { "/dev/null" })
        .arg(file)
        .stdin(Stdio::null())
        .output()?;
    let mut said = String::from_utf8(answer.stdout)?;
    said.push_str(&String::from_utf8(answer.stderr)?);
    if !answer.status.success() {
        return Err(format!("{} for {architecture}:\n{said}", file.display()).into());
    }
    let needs = needs(&said);
    if needs.is_empty() {
        return Err(format!("ptxas lists no kernel in {}:\n{said}", file.display()).into());
    }
    Ok(needs)
}

/// Reads three lines for each kernel: its name, what it spills, and what it uses.
fn needs(said: &str) -> Vec<Need> {
    let mut needs: Vec<Need> = Vec::new();
    let (mut kernel, mut spilled) = (None, None);
    for line in said.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            kernel = rest.split('\'').next().map(str::to_owned);
        } else if line.contains("bytes spill stores") {
            spilled = number_before(line, " bytes spill stores");
        } else if let Some(registers) = number_before(line, " registers") {
            if let (Some(kernel), Some(spilled)) = (kernel.take(), spilled.take()) {
                let shared = number_before(line, " bytes smem").unwrap_or(0);
                needs.push(Need { kernel, registers, spilled, shared });
            }
        }
    }
    needs.sort_by(|one, other| one.kernel.cmp(&other.kernel));
    needs
}

fn number_before(line: &str, words: &str) -> Option<u32> {
    line.split_once(words)?.0.rsplit(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Need, needs};

    const SAID: &str = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'sum_f64' for 'sm_80'
ptxas info    : Function properties for sum_f64
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 18 registers, used 1 barriers, 256 bytes smem, 376 bytes cmem[0]
ptxas info    : Compile time = 5.013 ms
ptxas info    : Compiling entry function 'dot' for 'sm_80'
ptxas info    : Function properties for dot
    48 bytes stack frame, 44 bytes spill stores, 52 bytes spill loads
ptxas info    : Used 255 registers, used 0 barriers
";

    #[test]
    fn what_a_kernel_needs_is_read() {
        let need = |kernel: &str, registers, spilled, shared| Need {
            kernel: kernel.to_owned(),
            registers,
            spilled,
            shared,
        };
        assert_eq!(needs(SAID), [need("dot", 255, 44, 0), need("sum_f64", 18, 0, 256)]);
        assert!(needs("ptxas fatal   : Ptx assembly aborted due to errors\n").is_empty());
    }
}
