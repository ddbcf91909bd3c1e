//! An account shared by a capture and its body's pools.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use super::account::Account;

/// An account shared by a [`Capture`](crate::Capture), the pools of its scopes, and its lent views.
///
/// The account cannot be passed as `&mut Account`, because a scope's pool stores it in a
/// [`BlockSource`](pool_cuda::BlockSource) while the body uses a `&Capture`. The account cannot be
/// stored in a `RefCell`, because `BlockSource` requires `Send`. All code that uses the account
/// runs on the same thread, so no call ever has to wait for the lock.
///
/// **While the account is locked, no code from the body runs, and no pool is used, created, or
/// dropped.** The body's code could lock the account again and cause a deadlock. While the account
/// is locked, only code from this crate, the arena, the host's allocator, or the driver runs. The
/// allocator and the driver cannot access the account, because only its capture, scopes, and lent
/// views refer to it.
#[derive(Clone)]
pub(super) struct SharedAccount(Arc<Mutex<Account>>);

impl SharedAccount {
    pub(super) fn new(account: Account) -> Self {
        Self(Arc::new(Mutex::new(account)))
    }

    /// Locks the account for a single step of the body.
    pub(super) fn open(&self) -> MutexGuard<'_, Account> {
        self.0.lock()
    }
}
