//! `cargo xtask assembly`: prints the machine code of the hot path and counts its instructions.
//!
//! The `hot-path` program contains a function with three acquires and two `xor`s that use their
//! views. The task counts the instructions that run if no acquire takes the cold path. Saving and
//! restoring registers is not counted, because it belongs to the function and not to the acquires.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::{env, fs};

use crate::TaskError;

/// The number of acquires in the program.
const ACQUIRES: usize = 3;

/// The maximum number of instructions for one acquire and the use of its view.
const MOST: usize = 5;

/// Prints the function, and fails if an acquire takes more than [`MOST`] instructions.
pub(crate) fn run() -> Result<ExitCode, TaskError> {
    if !cfg!(target_arch = "x86_64") {
        return Err("instructions are counted only on x86_64".into());
    }
    let listing = compile()?;
    let function = function(&listing, "three_acquires")?;
    for line in &function {
        println!("{line}");
    }
    let counted = hot_instructions(&function);
    println!(
        "\n{counted} instructions for {ACQUIRES} acquires and the use of their views; the limit is {}",
        MOST * ACQUIRES
    );
    Ok(if counted <= MOST * ACQUIRES { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Compiles the program like a user's release build, and returns the assembly.
fn compile() -> Result<String, TaskError> {
    let file = env::temp_dir().join(format!("pool-hot-path-{}.s", std::process::id()));
    let emit = format!("--emit=asm={}", file.display());
    let compiler = ["-Cdebuginfo=0", "-Ccodegen-units=1", "-Cllvm-args=-x86-asm-syntax=intel"];
    let status = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["rustc", "--quiet", "--release", "--package", "hot-path"])
        .arg("--")
        .args(compiler)
        .arg(emit)
        .status()?;
    if !status.success() {
        return Err(format!("the program does not compile: {status}").into());
    }
    read_and_remove(&file)
}

fn read_and_remove(file: &Path) -> Result<String, TaskError> {
    let listing = fs::read_to_string(file)
        .map_err(|error| format!("no assembly in {}: {error}", file.display()))?;
    fs::remove_file(file)?;
    Ok(listing)
}

/// Returns the lines of one function: its label, its instructions and its inner labels, without
/// directives.
fn function<'l>(listing: &'l str, name: &str) -> Result<Vec<&'l str>, TaskError> {
    let lines: Vec<_> = listing
        .lines()
        .skip_while(|line| !(line.contains(name) && line.ends_with(':')))
        .take_while(|line| line.trim() != ".cfi_endproc")
        .filter(|line| !line.trim_start().starts_with('.') || line.ends_with(':'))
        .collect();
    if lines.is_empty() {
        Err(format!("no function {name} in the assembly").into())
    } else {
        Ok(lines)
    }
}

/// Counts the instructions from the entry to the first `ret` if no conditional jump is taken.
/// Instructions that save and restore registers are not counted.
fn hot_instructions(function: &[&str]) -> usize {
    let end = function.iter().position(|line| line.trim() == "ret").unwrap_or(function.len());
    function[..end].iter().filter(|line| !line.ends_with(':') && !saves_or_restores(line)).count()
}

/// Returns `true` if the line is part of a function's prologue or epilogue.
fn saves_or_restores(line: &str) -> bool {
    let words: Vec<_> = line.split_whitespace().collect();
    matches!(words[..], ["push" | "pop", _] | ["add" | "sub", "rsp,", _])
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTING: &str = "\
_ZN4demo3oneE:
\t.cfi_startproc
\tpush\trbx
\tcmp\trsi, qword ptr [rdi + 8]
\tjae\t.LBB0_1
.LBB0_2:
\tmov\trax, qword ptr [rdi]
\tadd\trsp, 8
\tret
.LBB0_1:
\tcall\tcold
\tjmp\t.LBB0_2
\t.cfi_endproc
_ZN4demo3twoE:
\tret
";

    #[test]
    fn counts_what_runs_when_nothing_is_rare() {
        let one = function(LISTING, "one").unwrap();
        assert_eq!(one.len(), 11, "without directives");
        assert_eq!(hot_instructions(&one), 3);
        assert!(function(LISTING, "three").is_err());
    }
}
