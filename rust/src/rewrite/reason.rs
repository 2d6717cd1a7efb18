//! The reasons for which a rule is left unchanged.

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
    NotWorse,
    TooMuchWork,
}

impl Reason {
    /// Every reason, in the order of the documentation.
    pub const ALL: [Reason; 26] = [
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
        Reason::NotWorse,
        Reason::TooMuchWork,
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
            Reason::NotWorse => "not-worse",
            Reason::TooMuchWork => "too-much-work",
        }
    }

    /// What it means, for people.
    pub fn sentence(self) -> &'static str {
        match self {
            Reason::NoFlag => "without a flag, later rules see the new URI",
            Reason::BreakRedirect => "`break` on a redirect does two things at once, which no compiled form does",
            Reason::Unanchored => "without `^`, the pattern matches anywhere in the URI",
            Reason::Prefix => "without `$`, the pattern matches every URI with this prefix",
            Reason::Wildcard => "the pattern matches infinitely many URIs",
            Reason::Dot => "an unescaped `.` matches any character; --literal-dots reads it as a dot",
            Reason::TooMany => "the pattern matches too many URIs to list",
            Reason::Pattern => "the pattern uses a construct that is not modelled exactly",
            Reason::Unportable => "PCRE releases read its pattern differently, and the one of nginx is unknown",
            Reason::BehindUnportable => {
                "an earlier rule, whose pattern PCRE releases read differently, may match its URI"
            }
            Reason::NamedCapture => "a named group sets a variable that others may read",
            Reason::CapturesInLocation => {
                "its captures may be read later, and in a location only the rule itself sets them"
            }
            Reason::EmptyTarget => "the new URI may be empty, which nginx answers with 500",
            Reason::CaptureEscaping => "nginx escapes its captures in some requests and not in others",
            Reason::CaptureVariable => "a variable in its target may be a map with a regex, which overwrites `$1`",
            Reason::CaptureCase => "the target repeats a case-insensitive capture as the client spelled it",
            Reason::CaseOverlap => "an earlier rule that stays may match its URI in some letter case",
            Reason::CaseTiers => "it matches too many strings that differ only in letter case",
            Reason::KeyTooLong => "nginx does not accept parameters longer than 4,095 bytes",
            Reason::DollarInKey => "the guard's value is the URI, in which `$` would start a variable",
            Reason::Backtracking => "it may exceed the match limit of PCRE on a URI it does not match",
            Reason::EmptyUri => "it matches an empty URI, which cannot be a key of a map",
            Reason::HashCollision => {
                "too many strings have the same hash, so nginx would start slowly or with a warning"
            }
            Reason::NotWorse => "a key would be tried with no fewer patterns",
            Reason::TooMuchWork => "planning its list takes more work than a list of this size may take",
            Reason::MatchLimit => "an earlier rule may exceed a PCRE limit on its URI",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Codes are unique, because reports are read by them.
    #[test]
    fn codes_are_unique() {
        let codes: std::collections::HashSet<_> = Reason::ALL.iter().map(|reason| reason.code()).collect();
        assert_eq!(codes.len(), Reason::ALL.len());
    }
}
