//! An account that a capture and the pools of its body share.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use super::account::Account;

/// An account that is shared by a [`Capture`](crate::Capture), the pools of its scopes and its lent
/// views.
///
/// The account cannot be passed by `&mut`, because each scope's pool holds it as a
/// [`BlockSource`](pool_cuda::BlockSource) while the body holds the `&Capture`. It cannot be in a
/// `RefCell`, because `BlockSource` requires `Send`. All holders are on one thread, so no call ever
/// waits for the lock.
///
/// **While the lock is held, no code of the body runs, and no pool is used, created or dropped.**
/// Each of these may enter the account again, and would deadlock. Only code of this crate, the
/// arena, the host's allocator and the driver runs while the lock is held. None of them can reach
/// the account, because it is reachable only through its capture, and through the scopes and lent
/// views that borrow from the capture.
#[derive(Clone)]
pub(super) struct SharedAccount(Arc<Mutex<Account>>);

impl SharedAccount {
    pub(super) fn new(account: Account) -> Self {
        Self(Arc::new(Mutex::new(account)))
    }

    /// Locks the account for one step of a body.
    pub(super) fn open(&self) -> MutexGuard<'_, Account> {
        self.0.lock()
    }
}
