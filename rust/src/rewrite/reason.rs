//! Why a rule stays as it is.

/// A reason with a code for reports and a sentence for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    NoFlag,
    BreakRedirect,
    Unanchored,
    Prefix,
    Wildcard,
    Dot,
    TooMany,
    Pattern,
    Unportable,
    BehindUnportable,
    NamedCapture,
    CapturesInLocation,
    EmptyTarget,
    CaptureEscaping,
    CaptureCase,
    CaptureVariable,
    CaseOverlap,
    CaseTiers,
    KeyTooLong,
    DollarInKey,
    MatchLimit,
    Backtracking,
    EmptyUri,
    HashCollision,
}

impl Reason {
    /// Every reason, in the order of the documentation.
    pub const ALL: [Reason; 24] = [
        Reason::NoFlag,
        Reason::BreakRedirect,
        Reason::Unanchored,
        Reason::Prefix,
        Reason::Wildcard,
        Reason::Dot,
        Reason::TooMany,
        Reason::Pattern,
        Reason::Unportable,
        Reason::BehindUnportable,
        Reason::NamedCapture,
        Reason::CapturesInLocation,
        Reason::EmptyTarget,
        Reason::CaptureEscaping,
        Reason::CaptureCase,
        Reason::CaptureVariable,
        Reason::CaseOverlap,
        Reason::CaseTiers,
        Reason::KeyTooLong,
        Reason::DollarInKey,
        Reason::MatchLimit,
        Reason::Backtracking,
        Reason::EmptyUri,
        Reason::HashCollision,
    ];

    /// The code in reports.
    pub fn code(self) -> &'static str {
        match self {
            Reason::NoFlag => "no-flag",
            Reason::BreakRedirect => "break-redirect",
            Reason::Unanchored => "unanchored",
            Reason::Prefix => "prefix",
            Reason::Wildcard => "wildcard",
            Reason::Dot => "unescaped-dot",
            Reason::TooMany => "too-many-strings",
            Reason::Pattern => "pattern-not-understood",
            Reason::Unportable => "pcre-dependent",
            Reason::BehindUnportable => "behind-pcre-dependent",
            Reason::NamedCapture => "named-capture",
            Reason::CapturesInLocation => "captures-in-location",
            Reason::EmptyTarget => "empty-target",
            Reason::CaptureEscaping => "capture-escaping",
            Reason::CaptureCase => "capture-case",
            Reason::CaptureVariable => "capture-variable",
            Reason::CaseOverlap => "case-overlap",
            Reason::CaseTiers => "case-tiers",
            Reason::KeyTooLong => "key-too-long",
            Reason::DollarInKey => "dollar-in-key",
            Reason::MatchLimit => "match-limit",
            Reason::Backtracking => "backtracking",
            Reason::EmptyUri => "empty-uri",
            Reason::HashCollision => "hash-collision",
        }
    }

    /// What it means, for people.
    pub fn sentence(self) -> &'static str {
        match self {
            Reason::NoFlag => "without a flag the rules after it see the new URI",
            Reason::BreakRedirect => "`break` on a redirect does both at once, which no compiled form does",
            Reason::Unanchored => "without `^` the pattern matches anywhere in the URI",
            Reason::Prefix => "without `$` the pattern matches every URI that starts like it",
            Reason::Wildcard => "the pattern matches infinitely many URIs",
            Reason::Dot => "an unescaped `.` matches any character; --literal-dots reads it as a dot",
            Reason::TooMany => "the pattern matches more URIs than are worth listing",
            Reason::Pattern => "the pattern uses a construct whose exact meaning is not modelled",
            Reason::Unportable => {
                "not every release of PCRE reads its pattern alike, and which one nginx has is not known"
            }
            Reason::BehindUnportable => {
                "an earlier rule stays whose pattern not every release of PCRE reads alike, and may match its URI"
            }
            Reason::NamedCapture => "a named group sets a variable that others may read",
            Reason::CapturesInLocation => {
                "what it captures may be read after it, and only the rule itself captures it in a location"
            }
            Reason::EmptyTarget => "the new URI may be empty, which nginx answers with 500",
            Reason::CaptureEscaping => "nginx escapes what this rule captures in some requests and not in others",
            Reason::CaptureVariable => "a variable in its target may be a map with a regex, which sets `$1` anew",
            Reason::CaptureCase => "the target repeats the client's spelling of letters in any case",
            Reason::CaseOverlap => "an earlier rule that stays may match some spelling of it",
            Reason::CaseTiers => "it matches too many strings that differ by the case of letters alone",
            Reason::KeyTooLong => "nginx reads no parameter longer than 4,095 bytes",
            Reason::DollarInKey => "a `$` in the value of a map starts a variable, and the guard's value is the URI",
            Reason::Backtracking => "it may exceed the match limit of PCRE on a URI that it does not match",
            Reason::EmptyUri => "it matches an empty URI, too, which is no key of a map",
            Reason::HashCollision => {
                "too many strings have its hash in nginx, which would start slowly or with a warning"
            }
            Reason::MatchLimit => "an earlier rule may exceed a limit of PCRE on its URI",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Codes are unique, as reports are read by them.
    #[test]
    fn codes_are_unique() {
        let codes: std::collections::HashSet<_> = Reason::ALL.iter().map(|reason| reason.code()).collect();
        assert_eq!(codes.len(), Reason::ALL.len());
    }
}
