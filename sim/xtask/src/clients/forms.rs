//! What the simulator's decoder takes, given to NVIDIA's assembler: it must know each form, too. And orders of modifiers
//! that the decoder refuses: it must refuse each of them.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

use super::place::Place;
use cuda_tasks::Toolkit;
use tasks::TaskError;
use tasks::checks::{Checks, Outcome};
use tasks::programs::{cargo, output};

const NAME: &str = "PTX forms";
/// The test of `cuda-sim` that writes the forms, and the variable that says where.
const TEST: &str = "ptx::isa::tests::the_forms_are_written_where_that_is_asked_for";
const VARIABLE: &str = "CUDA_SIM_WRITE_PTX_FORMS";
/// The newest architecture that the assembler and the simulator know.
const ARCHITECTURE: &str = "sm_90";
/// What is shown of the assembler's complaints.
const SHOWN: usize = 20;

/// Has the forms written, and assembles them.
///
/// # Errors
///
/// When the test cannot be built or run, and when a program cannot be started.
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
    checks.that(&format!("{NAME}: the assembler takes all {count} that the simulator takes"), held);
    let file = file.with_extension("refused.ptx");
    let (count, held) = none_is_taken(&toolkit.assembler, &file)?;
    checks.that(&format!("{NAME}: it refuses all {count} orders that the simulator refuses"), held);
    Ok(())
}

/// How many instructions a file has, and what the assembler says where it does not take it.
fn all_are_taken(assembler: &Path, file: &Path) -> Result<(usize, Outcome), TaskError> {
    let held = complaints(assembler, file)?.map_or(Ok(()), |said| {
        let first: Vec<&str> = said.iter().take(SHOWN).map(String::as_str).collect();
        Err(first.join("\n"))
    });
    Ok((forms(file)?.len(), held))
}

/// How many instructions a file has, and of which the assembler does not complain.
fn none_is_taken(assembler: &Path, file: &Path) -> Result<(usize, Outcome), TaskError> {
    let said = complaints(assembler, file)?.unwrap_or_default();
    let lines: BTreeSet<usize> = said.iter().filter_map(|complaint| line_of(complaint)).collect();
    let forms = forms(file)?;
    let taken = forms.iter().filter(|(line, _)| !lines.contains(line));
    let taken: Vec<&str> = taken.map(|(_, form)| form.as_str()).collect();
    let held = match taken.as_slice() {
        [] if !forms.is_empty() => Ok(()),
        _ => Err(format!("of {} it takes\n{}", forms.len(), taken.join("\n"))),
    };
    Ok((forms.len(), held))
}

/// The instructions of a file that stand alone, with the numbers of their lines.
fn forms(file: &Path) -> Result<Vec<(usize, String)>, TaskError> {
    let text = std::fs::read_to_string(file)?;
    let lines = (1..).zip(text.lines()).filter(|(_, line)| is_form(line));
    Ok(lines.map(|(number, line)| (number, line.to_owned())).collect())
}

/// What the assembler complains about; None where it takes the file.
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

/// The line that a complaint is about.
fn line_of(complaint: &str) -> Option<usize> {
    complaint.split_once(", line ")?.1.split_once(';')?.0.parse().ok()
}

/// Whether a line of the file is an instruction that stands alone, and no declaration.
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
