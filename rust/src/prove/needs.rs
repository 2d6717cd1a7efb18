//! Finds the needs of a pattern: bytes that every match has at its start, at its end or inside.

use crate::syntax::{self, Ast};

/// Bytes that every match of a pattern has, in lower case.
#[derive(PartialEq, Eq, Hash)]
pub enum Need {
    Start(Vec<u8>),
    End(Vec<u8>),
    Part(Vec<u8>),
}

/// The needs of a pattern.
#[derive(Default)]
pub struct Needs {
    pub all: Vec<Need>,
    /// The longest subject for which PCRE2 certainly answers "no match" if the needed end or part is missing. If the
    /// needed start is missing, it always does, because the attempt ends there.
    pub longest: usize,
}

impl Needs {
    pub fn of(pattern: &[u8]) -> Needs {
        let Ok(parsed) = syntax::parse(pattern) else {
            let all = Some(syntax::prefix(pattern)).filter(|prefix| !prefix.is_empty()).map(Need::Start);
            return Needs { all: all.into_iter().collect(), longest: usize::MAX };
        };
        let most = parsed.longest();
        let Ast::Concat(parts) = parsed.ast else {
            return Needs::default();
        };
        let longest = longest(&parts).min(most);
        let mut all = Vec::new();
        let mut runs: Vec<&[Ast]> = parts.split(|part| !matches!(part, Ast::Byte(_))).collect();
        if let [Ast::Start, ..] = parts.as_slice() {
            all.push(Need::Start(bytes(runs[1]))); // before `^` is an empty run
            runs.drain(..2);
        }
        if longest > 0 {
            if let [.., Ast::Dollar | Ast::End] = parts.as_slice() {
                let before = runs.len().checked_sub(2);
                all.extend(before.map(|at| Need::End(bytes(runs.remove(at)))));
            }
            all.extend(runs.into_iter().map(|run| Need::Part(bytes(run))));
        }
        all.retain(|need| !need.bytes().is_empty());
        Needs { all, longest }
    }
}

impl Need {
    fn bytes(&self) -> &[u8] {
        match self {
            Need::Start(bytes) | Need::End(bytes) | Need::Part(bytes) => bytes,
        }
    }
}

fn bytes(run: &[Ast]) -> Vec<u8> {
    run.iter()
        .filter_map(|part| if let Ast::Byte(byte) = part { Some(byte.to_ascii_lowercase()) } else { None })
        .collect()
}

/// A tenth of PCRE2's match limit.
const FEW_CALLS: f64 = 1e6;

/// The longest subject for which PCRE2 answers "no match" before its match limit. The bound applies only to sequences
/// of bytes, sets and repetitions of one of these: each repetition, and the start of an unanchored match, has at most
/// one way for each byte of the subject.
fn longest(parts: &[Ast]) -> usize {
    let mut loops = i32::from(parts.first() != Some(&Ast::Start));
    let mut size = 1.0;
    for part in parts {
        match inner(part) {
            Ast::Byte(_) | Ast::Class(_) | Ast::Start | Ast::Dollar | Ast::End | Ast::Empty => {}
            Ast::Repeat { sub, .. } if matches!(**sub, Ast::Byte(_) | Ast::Class(_)) => loops += 1,
            _ => return 0,
        }
        size += 3.0; // entering and leaving a group
    }
    if loops == 0 { usize::MAX } else { (FEW_CALLS / size).powf(1.0 / f64::from(loops)) as usize }
}

/// The content of a group around one node.
fn inner(part: &Ast) -> &Ast {
    if let Ast::Capture { sub, .. } = part { inner(sub) } else { part }
}
