//! Why a map stays as it is.

/// A reason; rows are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stays {
    /// No fewer patterns would be tried.
    NotWorse,
    /// Its default, or what it looks up, holds what a regex has captured.
    OutsideCaptures,
    /// PCRE may give up on this row, and another row might answer then.
    UnboundedRow(usize),
    /// This row may be evaluated though another one answers, and that would show.
    ShowingRow(usize),
    /// The maps would be evaluated inside one another more often than nginx does.
    TooDeep,
    /// A token would be too long for nginx.
    LongToken,
    /// There are more rows than numbers have digits for, or more than an index over patterns holds.
    TooManyRows,
}

impl Stays {
    /// A word for the reason.
    pub fn code(self) -> &'static str {
        match self {
            Stays::NotWorse => "not-worse",
            Stays::OutsideCaptures => "outside-captures",
            Stays::UnboundedRow(_) => "unbounded-row",
            Stays::ShowingRow(_) => "showing-row",
            Stays::TooDeep => "too-deep",
            Stays::LongToken => "long-token",
            Stays::TooManyRows => "too-many-rows",
        }
    }

    /// The row it is about.
    pub fn row(self) -> Option<usize> {
        match self {
            Stays::UnboundedRow(row) | Stays::ShowingRow(row) => Some(row),
            _ => None,
        }
    }
}
