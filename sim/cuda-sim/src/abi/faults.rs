//! Faults: calls that the test has selected to fail, counted from now.

use crate::code::Code;
use crate::settings::Fault;
use crate::world::World;

/// Makes the calls listed in `faults` fail, counted from now.
pub(super) fn plan_faults(world: &mut World, faults: &[Fault]) {
    for Fault { call, nth, code } in faults {
        let call = if call == "*" { "" } else { call };
        world.log.fail(call, *nth, Code(*code));
    }
}
