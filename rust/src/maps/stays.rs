//! The reasons for which a map is left unchanged.

/// Why a map is left unchanged. Rows are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stays {
    /// The new maps would not try fewer patterns.
    NotWorse,
    /// Its default or its source uses captures of a regex.
    OutsideCaptures,
    /// The new maps would set other captures.
    SetsCaptures,
    /// PCRE may give up on this row, and another row might answer then.
    UnboundedRow(usize),
    /// This row might be evaluated although another one answers, and that would have an effect.
    ShowingRow(usize),
    /// The maps would nest deeper than nginx evaluates them.
    TooDeep,
    /// A token would be too long for nginx.
    LongToken,
    /// There are more rows than numbers or an index over patterns can hold.
    TooManyRows,
    /// The keys of a table would overload nginx's hash.
    HashCollision,
}

impl Stays {
    /// The code of the reason.
    pub fn code(self) -> &'static str {
        match self {
            Stays::NotWorse => "not-worse",
            Stays::OutsideCaptures => "outside-captures",
            Stays::SetsCaptures => "captures-read",
            Stays::UnboundedRow(_) => "unbounded-row",
            Stays::ShowingRow(_) => "showing-row",
            Stays::TooDeep => "too-deep",
            Stays::LongToken => "long-token",
            Stays::TooManyRows => "too-many-rows",
            Stays::HashCollision => "hash-collision",
        }
    }

    /// The row that is the reason, if it is a single row.
    pub fn row(self) -> Option<usize> {
        match self {
            Stays::UnboundedRow(row) | Stays::ShowingRow(row) => Some(row),
            _ => None,
        }
    }
}
