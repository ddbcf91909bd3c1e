//! The names of the faulty backends' mistakes. A mistake is a value rather than a type so that all
//! faulty backends with the same inner backend share one compilation of the test cases.

use std::fmt;

/// Defines an enum of mistakes, along with a description of each mistake.
macro_rules! mistakes {
    ($($mistake:ident = $text:literal),* $(,)?) => {
        /// A mistake that a faulty backend makes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Mistake {
            $(#[doc = $text] $mistake,)*
        }

        impl fmt::Display for Mistake {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(Self::$mistake => $text,)*
                })
            }
        }
    };
}

mistakes! {
    Nothing = "nothing",
    FillsEarly = "fills run before the work that was enqueued",
    ZeroesEarly = "zeroing runs before the work that was enqueued",
    PoisonsEarly = "poison is set before the work that was enqueued",
    UploadsEarly = "uploads run before the work that was enqueued",
    FillsLate = "fills are enqueued at the next fill",
    ZeroesLate = "zeroing is enqueued at the next zeroing",
    UploadsLate = "uploads are enqueued at the next upload",
    HostOvertakes = "what the host writes comes before the work that was enqueued",
    UploadsReadLate = "an upload reads its source when it runs",
    FreesEarly = "a block is freed before its work has run",
    FreesLate = "a block is freed when the next one is",
    SettlesNothing = "settle does nothing",
    SettlesSome = "settle runs two commands at most",
    IgnoresReuse = "reuse does nothing",
    ReusesForHandOut = "reuse orders what is handed out, not what is freed",
    ReusesForFree = "reuse orders what is freed, not what is handed out",
    FillsStop = "fills stop at 8 KiB",
    ZeroesStop = "zeroing stops at 8 KiB",
    UploadsStop = "uploads are cut at 64 KiB",
    LongFillsStop = "fills with 16 bytes stop at 512 KiB",
    ZeroEndsInOnes = "zeroing writes a one at the end",
    WrongTwelve = "elements of 12 bytes are filled with their first 8",
    AllButLast = "a fill leaves the last element out",
    ThreeTooMany = "a fill writes three elements too many",
    WholeWords = "uploads leave out what is no whole word",
    ZeroesBeyond = "zeroing goes on for 128 bytes",
    ZeroesAlways = "whatever is to be set, zeros are",
    SkipsEqual = "a fill that repeats the last fill of the block is left out",
    LosesLastOf4096 = "uploads of exactly 4096 bytes lose the last",
    LeaksAll = "every block leaks",
    LeaksLarge = "blocks of more than 64 KiB leak",
    FreesTwice = "every block is freed twice",
    FreesOtherBytes = "blocks are freed with other bytes",
    FreeUnwinds = "free unwinds",
    SettleUnwinds = "settle unwinds",
    Misaligned = "blocks are 8 bytes beyond a boundary",
    Shares = "a block in use is given again, if it has the size",
    TooSmall = "blocks have half the bytes",
    SwallowsRefusals = "a refusal is swallowed, and a block given",
    GivesLess = "a refusal is swallowed, and a smaller block given",
    SwallowsPanics = "a panic in an allocation becomes an error",
    StaysRefused = "after one refusal all that follow are refused",
    ShortViews = "views are one element short",
    ShortLongViews = "views of more than 100 elements are one short",
    ShortSharedViews = "shared views are one element short",
    LateSharedViews = "shared views start one element late",
    StaleDescriptors = "a new descriptor is that of the shape before",
    ForgetsAfterMany = "a thousand fills are done, and no more",
    FillsOvertake = "a fill overtakes the command before it",
    ZeroesOddly = "zeroing of an odd number of bytes leaves out the last",
    MixesQueues = "a small upload goes to the block that was made last",
    HalvesLong = "fills with 2 bytes repeat one, from 65,537 elements on",
    ZeroesOnce = "a block that was zeroed before is not zeroed again",
    LongZeroesFail = "zeroing of more than 32 KiB fails, and says nothing",
    PartsLate = "the second part of a view starts one element late",
    LendsStart = "a part of a shared view lends the view's start",
    SplitsAnywhere = "a view is split beyond its end",
    ViewsFillEarly = "a view is filled before the work that was enqueued",
    ViewsReadEarly = "a view is read before the work that was enqueued",
    CopiesShort = "a copy of a view leaves out the last element",
    CopiesWhenRead = "a copy of a view is made when something is read",
    CopiesAcrossEarly = "a copy from another pool waits for nothing",
    CopiesAnyLength = "copies of other lengths are made",
}

impl Mistake {
    /// The mistakes of backends that wrap a queue.
    pub(super) const OF_QUEUES: &'static [Self] = &[
        Self::FillsEarly,
        Self::ZeroesEarly,
        Self::PoisonsEarly,
        Self::UploadsEarly,
        Self::FillsLate,
        Self::ZeroesLate,
        Self::UploadsLate,
        Self::UploadsReadLate,
        Self::FreesEarly,
        Self::FreesLate,
        Self::SettlesNothing,
        Self::SettlesSome,
        Self::IgnoresReuse,
        Self::ReusesForHandOut,
        Self::ReusesForFree,
        Self::FillsStop,
        Self::ZeroesStop,
        Self::UploadsStop,
        Self::LongFillsStop,
        Self::ZeroEndsInOnes,
        Self::WrongTwelve,
        Self::AllButLast,
        Self::ThreeTooMany,
        Self::WholeWords,
        Self::ZeroesBeyond,
        Self::ZeroesAlways,
        Self::SkipsEqual,
        Self::LosesLastOf4096,
        Self::LeaksAll,
        Self::LeaksLarge,
        Self::FreesTwice,
        Self::FreesOtherBytes,
        Self::FreeUnwinds,
        Self::SettleUnwinds,
        Self::Misaligned,
        Self::Shares,
        Self::TooSmall,
        Self::SwallowsRefusals,
        Self::GivesLess,
        Self::SwallowsPanics,
        Self::StaysRefused,
        Self::ShortViews,
        Self::ShortLongViews,
        Self::ShortSharedViews,
        Self::LateSharedViews,
        Self::StaleDescriptors,
        Self::ForgetsAfterMany,
        Self::FillsOvertake,
        Self::ZeroesOddly,
        Self::MixesQueues,
        Self::HalvesLong,
        Self::ZeroesOnce,
        Self::LongZeroesFail,
        Self::PartsLate,
        Self::LendsStart,
        Self::SplitsAnywhere,
        Self::ViewsFillEarly,
        Self::ViewsReadEarly,
        Self::CopiesShort,
        Self::CopiesWhenRead,
        Self::CopiesAcrossEarly,
        Self::CopiesAnyLength,
    ];

    /// The mistakes of backends that treat their queue's memory as host memory.
    pub(super) const OF_HOST_QUEUES: &'static [Self] = &[Self::HostOvertakes];

    /// The mistakes of backends that wrap the heap backend.
    pub(super) const OF_HEAPS: &'static [Self] = &[
        Self::FillsStop,
        Self::ZeroesStop,
        Self::UploadsStop,
        Self::AllButLast,
        Self::LeaksAll,
        Self::FreesOtherBytes,
        Self::SettleUnwinds,
        Self::ShortLongViews,
        Self::ShortSharedViews,
    ];

    /// The mistakes of backends that add a ledger and wrap the toy backend.
    pub(super) const OF_TOYS: &'static [Self] = &[
        Self::FillsStop,
        Self::ZeroesAlways,
        Self::UploadsStop,
        Self::WholeWords,
        Self::FreesTwice,
        Self::FreeUnwinds,
        Self::StaysRefused,
        Self::ShortViews,
    ];
}
