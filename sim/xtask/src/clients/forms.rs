//! Compares the simulator's decoder with NVIDIA's assembler. The assembler must accept each form
//! that the decoder accepts, and refuse each order of modifiers that the decoder refuses.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

use super::place::Place;
use cuda_tasks::Toolkit;
use tasks::TaskError;
use tasks::checks::{Checks, Outcome};
use tasks::programs::{cargo, output};

const NAME: &str = "PTX forms";
/// The test of `cuda-sim` that writes the forms, and the variable that names the directory for
/// them.
const TEST: &str = "ptx::isa::tests::the_forms_are_written_where_that_is_asked_for";
const VARIABLE: &str = "CUDA_SIM_WRITE_PTX_FORMS";
/// The newest architecture that both the simulator and the assembler support.
const ARCHITECTURE: &str = "sm_90";
/// The maximum number of the assembler's messages that are printed.
const SHOWN: usize = 20;

/// Writes the forms, and passes them to the assembler.
///
/// # Errors
///
/// Fails if the test cannot be built or run, or if a program cannot be started.
pub(super) fn run(place: &Place, checks: &mut Checks) -> Result<(), TaskError> {
    let toolkit = match Toolkit::obtain(&place.compilers)? {
        Ok(toolkit) => toolkit,
        Err(why) => {
            checks.skip(NAME, &why);
            return Ok(());
        }
    };
    std::fs::create_dir_all(&place.made)?;
    let file = place.made.join("forms.ptx");
    let mut test = cargo();
    test.args(["test", "--quiet", "--package", "cuda-sim", "--lib", "--", "--exact", TEST]);
    output(test.env(VARIABLE, &file))?;
    let (count, held) = all_are_taken(&toolkit.assembler, &file)?;
    checks.that(
        &format!("{NAME}: the assembler accepts all {count} forms that the simulator accepts"),
        held,
    );
    let file = file.with_extension("refused.ptx");
    let (count, held) = none_is_taken(&toolkit.assembler, &file)?;
    checks.that(
        &format!("{NAME}: the assembler refuses all {count} orders that the simulator refuses"),
        held,
    );
    Ok(())
}

/// Returns the number of instructions in a file. If the assembler refuses any, the outcome contains
/// its messages.
fn all_are_taken(assembler: &Path, file: &Path) -> Result<(usize, Outcome), TaskError> {
    let held = complaints(assembler, file)?.map_or(Ok(()), |said| {
        let first: Vec<&str> = said.iter().take(SHOWN).map(String::as_str).collect();
        Err(first.join("\n"))
    });
    Ok((forms(file)?.len(), held))
}

/// Returns the number of instructions in a file. The outcome lists those for which the assembler
/// prints no message.
fn none_is_taken(assembler: &Path, file: &Path) -> Result<(usize, Outcome), TaskError> {
    let said = complaints(assembler, file)?.unwrap_or_default();
    let lines: BTreeSet<usize> = said.iter().filter_map(|complaint| line_of(complaint)).collect();
    let forms = forms(file)?;
    let taken = forms.iter().filter(|(line, _)| !lines.contains(line));
    let taken: Vec<&str> = taken.map(|(_, form)| form.as_str()).collect();
    let held = match taken.as_slice() {
        [] if !forms.is_empty() => Ok(()),
        _ => Err(format!("of {} orders, the assembler accepts\n{}", forms.len(), taken.join("\n"))),
    };
    Ok((forms.len(), held))
}

/// Returns the test instructions in a file with their line numbers.
fn forms(file: &Path) -> Result<Vec<(usize, String)>, TaskError> {
    let text = std::fs::read_to_string(file)?;
    let lines = (1..).zip(text.lines()).filter(|(_, line)| is_form(line));
    Ok(lines.map(|(number, line)| (number, line.to_owned())).collect())
}

/// Returns the assembler's messages, or `None` if it accepts the file.
fn complaints(assembler: &Path, file: &Path) -> Result<Option<Vec<String>>, TaskError> {
    let answer = Command::new(assembler)
        .args(["--gpu-name", ARCHITECTURE, "--output-file", "/dev/null"])
        .arg(file)
        .stdin(Stdio::null())
        .output()?;
    if answer.status.success() {
        return Ok(None);
    }
    let said = [answer.stdout, answer.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    Ok(Some(said.lines().filter(|line| line.contains("error")).map(str::to_owned).collect()))
}

/// Returns the line that a message refers to.
fn line_of(complaint: &str) -> Option<usize> {
    complaint.split_once(", line ")?.1.split_once(';')?.0.parse().ok()
}

/// Returns `true` if a line of the file is a test instruction, and not a declaration.
fn is_form(line: &str) -> bool {
    line.ends_with(';') && !line.starts_with('.') && !line.starts_with("T:") && line != "ret;"
}

#[cfg(test)]
mod tests {
    use super::{is_form, line_of};

    #[test]
    fn complaints_name_their_lines() {
        let said =
            "ptxas a/b.ptx, line 13; error   : Unexpected instruction types specified for 'mul'";
        assert_eq!(line_of(said), Some(13));
        assert_eq!(line_of("ptxas fatal   : Ptx assembly aborted due to errors"), None);
    }

    #[test]
    fn declarations_are_no_forms() {
        assert!(is_form("add.u32 %r0,%r2,%r4;"));
        let others = [".reg .f32 %f<16>;", "L:", "T: .branchtargets L;", "}", "ret;"];
        assert!(others.iter().all(|line| !is_form(line)));
    }
}
