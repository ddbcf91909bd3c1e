//! An account, shared by its capture and the pools of its body.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use super::account::Account;

/// An account, shared by a [`Capture`](crate::Capture), the pools of its scopes and its lent views.
///
/// It cannot be plain state that is passed by `&mut`: each pool of a scope holds it as its
/// [`BlockSource`](pool_cuda::BlockSource), beside the `&Capture` of the body. It cannot be a
/// `RefCell`, because that trait requires `Send`. One thread has all of them, so no call waits
/// here.
///
/// **No code of the body runs under its lock, and no pool is used, created or dropped:** each of
/// these may re-enter the account, and would deadlock. Only code of this crate, the arena, the
/// host's allocator and the driver run under it. None of them has the account, which is reached
/// through its capture alone, and through the scopes and lent views that borrow from that.
#[derive(Clone)]
pub(super) struct SharedAccount(Arc<Mutex<Account>>);

impl SharedAccount {
    pub(super) fn new(account: Account) -> Self {
        Self(Arc::new(Mutex::new(account)))
    }

    /// Locks the account, for one step of a body.
    pub(super) fn open(&self) -> MutexGuard<'_, Account> {
        self.0.lock()
    }
}
