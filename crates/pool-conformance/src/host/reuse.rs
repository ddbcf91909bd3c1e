//! Runs every acquire method on a slot armed by a view. Checks how many times `reuse` is called for
//! the block and what the block contains during the call.

use pool_core::{DynamicPool, HostBackend, Pool, Scope};

use super::element::HostKind;
use super::forms::{HostResult, acquire};
use super::request::{HostAcquire, HostForm};
use crate::arming::{ArmingBackend, first_bytes_at_reuse};

type Backend<B> = ArmingBackend<B>;
type Armed<T, B> = HostResult<T, ArmingBackend<B>>;

/// The byte that fills the armed slot's block until the slot is reused.
const FORMER: u8 = 0xA5;

/// The size of the armed slot's block in bytes. Some acquires need a larger block.
const BYTES: usize = 400;

/// A call to an acquire method that every scope provides, made after a view has armed the next
/// slot.
type ScopeForm<B> = fn(&mut Scope<'_, Backend<B>>) -> Armed<(), B>;

/// A call to an acquire method of a dynamic pool.
type DynamicForm<B> = fn(&mut DynamicPool<Backend<B>>) -> Armed<(), B>;

/// Runs every acquire method on an armed slot. Checks that `reuse` is called exactly once and
/// before the first write to the block. If the method hands out no bytes, `reuse` must not be
/// called.
pub(super) fn check_reuse<B: HostBackend>(context: impl Fn() -> B::Context) -> Armed<(), B> {
    check_scope_forms::<B>(&mut Pool::new(context()))?;
    check_host_forms::<B>(&mut Pool::new(context()))?;
    check_dynamic_forms::<B>(&mut DynamicPool::new(context()))
}

fn check_scope_forms<B: HostBackend>(pool: &mut Pool<Backend<B>>) -> Armed<(), B> {
    let forms: [(&str, ScopeForm<B>); 10] = [
        ("acquire", |scope| scope.try_acquire::<u64, _>(20).map(drop)),
        ("acquire, of more bytes", |scope| scope.try_acquire::<u64, _>(2_000).map(drop)),
        ("acquire_zeroed", |scope| scope.try_acquire_zeroed::<bool, _>(20).map(drop)),
        ("acquire_filled", |scope| scope.try_acquire_filled(20, 1_u8).map(drop)),
        ("acquire_from", |scope| scope.try_acquire_from(&[1.0; 20]).map(drop)),
        ("acquire, of two axes", |scope| scope.try_acquire::<u8, _>([4, 5]).map(drop)),
        ("acquire, of dynamic rank", |scope| scope.try_acquire::<u8, _>(&[4, 5][..]).map(drop)),
        ("acquire_zeroed, of two axes", |scope| {
            scope.try_acquire_zeroed::<u8, _>([4, 5]).map(drop)
        }),
        ("acquire_filled, of two axes", |scope| scope.try_acquire_filled([4, 5], 1_u8).map(drop)),
        ("keep, of a vector without capacity", |scope| {
            let kept = scope.try_keep(|inner| {
                let mut vector = inner.try_acquire_vec(0)?;
                vector.try_push((1_u8, 2_u32))?;
                Ok::<_, pool_core::PoolError<B::Error>>(vector.into_slice())
            });
            kept.map(drop)
        }),
    ];
    for (name, form) in forms {
        check_in_scope(pool, name, 1, form)?;
    }
    let nothing: [(&str, ScopeForm<B>); 3] = [
        ("acquire, of nothing", |scope| scope.try_acquire::<u64, _>(0).map(drop)),
        ("acquire, of units", |scope| scope.try_acquire::<(), _>(20).map(drop)),
        ("a vector that stays empty", |scope| scope.try_acquire_vec::<u64>(0).map(drop)),
    ];
    nothing.into_iter().try_for_each(|(name, form)| check_in_scope(pool, name, 0, form))
}

fn check_host_forms<B: HostBackend>(pool: &mut Pool<Backend<B>>) -> Armed<(), B> {
    let forms = [
        HostForm::With,
        HostForm::Uninit,
        HostForm::NdWith,
        HostForm::NdUninit,
        HostForm::Scratch(64),
        HostForm::Scratch(4096),
        HostForm::FixedVec(0),
        HostForm::FixedVec(3),
        HostForm::Vec(0),
        HostForm::Vec(1),
        HostForm::Vec(8),
        HostForm::FromIter,
    ];
    let all_kinds = [
        HostKind::Unit,
        HostKind::Pair,
        HostKind::Byte,
        HostKind::Number,
        HostKind::Point,
        HostKind::Optional,
        HostKind::Text,
    ];
    // Under Miri, only the first two kinds are tested. Elements of kind `Unit` have no bytes, and
    // elements of kind `Pair` contain padding.
    let kinds = if cfg!(miri) { &all_kinds[..2] } else { &all_kinds[..] };
    // If the length is odd, `acquire_from_iter` receives an iterator with an exact size hint.
    // Arrays of the two greatest lengths do not fit in the armed slot's block.
    let lengths: &[usize] = if cfg!(miri) { &[5, 6] } else { &[5, 6, 200, 201] };
    for form in forms {
        for &kind in kinds {
            for &length in lengths {
                let asked = HostAcquire {
                    kind,
                    form,
                    length,
                    reenter_at: None,
                    panic_at: None,
                    panics: false,
                };
                let has_bytes = kind != HostKind::Unit || matches!(form, HostForm::Scratch(_));
                check_in_scope(pool, &format!("{asked:?}"), usize::from(has_bytes), |scope| {
                    acquire(scope, &asked, 7, &|_| {}).map(drop)
                })?;
            }
        }
    }
    Ok(())
}

/// Arms the first slot of a scope and checks how an acquire method uses that slot.
fn check_in_scope<B: HostBackend>(
    pool: &mut Pool<Backend<B>>,
    name: &str,
    calls: usize,
    form: impl FnOnce(&mut Scope<'_, Backend<B>>) -> Armed<(), B>,
) -> Armed<(), B> {
    pool.scope().try_acquire_filled(BYTES, FORMER)?.arm();
    let (result, ordered) = first_bytes_at_reuse(|| form(&mut pool.scope()));
    result?;
    assert_eq!(ordered, vec![FORMER; calls], "{name}: what the block held at each call to `reuse`");
    Ok(())
}

fn check_dynamic_forms<B: HostBackend>(pool: &mut DynamicPool<Backend<B>>) -> Armed<(), B> {
    let forms: [(&str, DynamicForm<B>); 4] = [
        ("acquire", |pool| pool.try_acquire::<u64>(20).map(drop)),
        ("acquire_zeroed", |pool| pool.try_acquire_zeroed::<u64>(20).map(drop)),
        ("acquire_filled", |pool| pool.try_acquire_filled(20, 1_u8).map(drop)),
        ("acquire_from", |pool| pool.try_acquire_from(&[1_u8; 20]).map(drop)),
    ];
    for (name, form) in forms {
        pool.reset();
        let handle = pool.try_acquire_filled(BYTES, FORMER)?;
        pool.get(handle)?.arm();
        pool.reset();
        let (result, ordered) = first_bytes_at_reuse(|| form(pool));
        result?;
        assert_eq!(ordered, [FORMER], "{name} of a dynamic pool");
    }
    Ok(())
}
