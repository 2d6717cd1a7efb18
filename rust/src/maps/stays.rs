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
    /// Planning the maps would take more work than a list of this size is worth.
    TooMuchWork,
}

impl Stays {
    /// Every reason.
    pub const ALL: [Stays; 10] = [
        Stays::NotWorse,
        Stays::OutsideCaptures,
        Stays::SetsCaptures,
        Stays::UnboundedRow(0),
        Stays::ShowingRow(0),
        Stays::TooDeep,
        Stays::LongToken,
        Stays::TooManyRows,
        Stays::HashCollision,
        Stays::TooMuchWork,
    ];

    /// The code of the reason.
    pub fn code(self) -> &'static str {
        match self {
            Stays::NotWorse => "not-worse",
            Stays::OutsideCaptures => "default-captures",
            Stays::SetsCaptures => "captures-read",
            Stays::UnboundedRow(_) => "unbounded-row",
            Stays::ShowingRow(_) => "showing-row",
            Stays::TooDeep => "too-deep",
            Stays::LongToken => "long-token",
            Stays::TooManyRows => "too-many-rows",
            Stays::HashCollision => "hash-collision",
            Stays::TooMuchWork => "too-much-work",
        }
    }

    /// The reason as a sentence without a full stop.
    pub fn sentence(self) -> &'static str {
        match self {
            Stays::NotWorse => "a tree would try no fewer patterns",
            Stays::OutsideCaptures => "its default or its source reads captures",
            Stays::SetsCaptures => "captures may be read after it is evaluated, and new maps would set others",
            Stays::UnboundedRow(_) => {
                "PCRE may give up on a row, after which nginx tries no other, and no pattern tells the row from others"
            }
            Stays::ShowingRow(_) => {
                "the tree would also evaluate a row that comes second, this row sets or reads a variable, and no pattern tells \
                 it from others"
            }
            Stays::TooDeep => "the maps of the tree would be nested more deeply than nginx evaluates",
            Stays::LongToken => "a parameter would be longer than nginx accepts",
            Stays::TooManyRows => "it has too many rows",
            Stays::HashCollision => "nginx's hash tables would not separate the keys of the tree",
            Stays::TooMuchWork => "its tree takes more work than a list of this size may take",
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

#[cfg(test)]
mod tests {
    use super::Stays;

    /// The list of all reasons has each once, with a code of its own.
    #[test]
    fn all() {
        let place = |reason: &Stays| match reason {
            Stays::NotWorse => 0,
            Stays::OutsideCaptures => 1,
            Stays::SetsCaptures => 2,
            Stays::UnboundedRow(_) => 3,
            Stays::ShowingRow(_) => 4,
            Stays::TooDeep => 5,
            Stays::LongToken => 6,
            Stays::TooManyRows => 7,
            Stays::HashCollision => 8,
            Stays::TooMuchWork => 9,
        };
        assert!(Stays::ALL.iter().map(place).eq(0..10));
        let codes: std::collections::HashSet<&str> = Stays::ALL.iter().map(|reason| reason.code()).collect();
        assert_eq!(codes.len(), Stays::ALL.len());
    }
}
