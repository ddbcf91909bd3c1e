//! What the simulator's decoder takes, given to NVIDIA's assembler: it must know each form, too.

use std::process::{Command, Stdio};

use super::Place;
use crate::TaskError;
use crate::checks::Checks;
use crate::kernels::Toolkit;
use crate::programs::{cargo, output};

const NAME: &str = "PTX forms";
/// The test of `cuda-sim` that writes the forms, and the variable that says where.
const TEST: &str = "ptx::isa::tests::the_taken_forms_are_written_where_that_is_asked_for";
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
    let toolkit = match Toolkit::obtain(&place.root, &place.target)? {
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
    let forms = std::fs::read_to_string(&file)?.lines().filter(|line| is_form(line)).count();
    let answer = Command::new(&toolkit.assembler)
        .args(["--gpu-name", ARCHITECTURE, "--output-file", "/dev/null"])
        .arg(&file)
        .stdin(Stdio::null())
        .output()?;
    let said = [answer.stdout, answer.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let complaints: Vec<&str> = said.lines().filter(|line| line.contains("error")).collect();
    let held = match answer.status.success() {
        true => Ok(()),
        false => Err(complaints.iter().take(SHOWN).copied().collect::<Vec<_>>().join("\n")),
    };
    checks.that(&format!("{NAME}: the assembler takes all {forms} that the simulator takes"), held);
    Ok(())
}

/// Whether a line of the file is an instruction that stands alone, and no declaration.
fn is_form(line: &str) -> bool {
    line.ends_with(';') && !line.starts_with('.') && !line.starts_with("T:") && line != "ret;"
}

#[cfg(test)]
mod tests {
    use super::is_form;

    #[test]
    fn declarations_are_no_forms() {
        assert!(is_form("add.u32 %r0,%r2,%r4;"));
        let others = [".reg .f32 %f<16>;", "L:", "T: .branchtargets L;", "}", "ret;"];
        assert!(others.iter().all(|line| !is_form(line)));
    }
}
