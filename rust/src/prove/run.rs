//! Compares one run of rules with its compiled form: checks the theorem of [`super`] on its strings.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::parallel;
use crate::phase::Phase;
use crate::prove::effect::{Behaviour, Rewrite, Uri};
use crate::prove::gone::{self, GoneStrings};
use crate::prove::guards::{Clears, Guards, Key};
use crate::prove::listed::Listed;
use crate::prove::maps::{Maps, Near};
use crate::prove::node::{Node, is_stop, number};
use crate::prove::oracle::Matches;
use crate::prove::reruns::Reruns;
use crate::prove::residual::Residual;
use crate::prove::strings::NOBODY;
use crate::prove::{Checked, Discharged, Refutation};
use crate::syntax::Readings;

/// The statements that replace a run.
pub struct CompiledForm<'t> {
    /// Guards and what they need.
    emitted: Vec<&'t Node<'t>>,
    /// A rule that never matches, and so leaves `$1` to `$9` empty as any failing rule does.
    clears: Option<&'t Node<'t>>,
    /// All rules: those that stay, and those that list keys if there are no guards.
    rules: Vec<&'t Node<'t>>,
}

/// The rules of a compiled form: how many stay before the new ones, the new ones, and the places of all that stay among
/// the rules of the original.
struct RuleOrder<'t> {
    leading: usize,
    new: Vec<&'t Node<'t>>,
    kept: Vec<usize>,
}

/// The part that replaces the removed rules.
enum Form<'t> {
    Guards(Guards<'t>),
    Listed(Listed<'t>),
}

impl<'t> Form<'t> {
    fn run(&self, uri: Uri, maps: &'t Maps<'t>, keep_captures: bool, own: &dyn Fn(&[u8]) -> bool) -> Behaviour<'t> {
        match self {
            Form::Guards(guards) => guards.run(uri, maps, keep_captures, own),
            Form::Listed(listed) => listed.run(uri, maps, keep_captures),
        }
    }

    /// Calls `with` for each string that the form answers.
    fn keys(&self, with: impl FnMut(Key)) {
        match self {
            Form::Guards(guards) => guards.keys().for_each(with),
            Form::Listed(listed) => listed.keys().for_each(with),
        }
    }

    /// Whether the form leaves `$1` to `$9` empty for a URI that it does not answer, as a pattern that does not match
    /// does.
    fn clears_captures(&self) -> Clears {
        match self {
            Form::Guards(guards) => guards.clears_captures(),
            Form::Listed(listed) if listed.is_empty() => Clears::Never,
            Form::Listed(_) => Clears::Always,
        }
    }
}

impl<'t> CompiledForm<'t> {
    /// Reads the statements of one compiled run, and returns how many there are.
    pub fn split(nodes: &[&'t Node<'t>], is_emitted: impl Fn(&Node) -> bool) -> (CompiledForm<'t>, usize) {
        let emitted: Vec<_> = nodes.iter().copied().take_while(|node| is_emitted(node)).collect();
        let mut rest = &nodes[emitted.len()..];
        let clears_captures = !emitted.is_empty() && rest.first().is_some_and(|node| node.is_clear());
        if clears_captures {
            rest = &rest[1..];
        }
        let rules: Vec<_> = rest.iter().copied().take_while(|node| node.is_rule()).collect();
        let length = emitted.len() + usize::from(clears_captures) + rules.len();
        let clears = clears_captures.then(|| nodes[emitted.len()]);
        (CompiledForm { emitted, clears, rules }, length)
    }

    /// Separates kept rules from new ones. As many rules as possible are matched with those of the original, from both
    /// ends.
    fn order(&self, rules: &[&'t Node<'t>]) -> Discharged<RuleOrder<'t>> {
        if !self.emitted.is_empty() {
            return Ok(RuleOrder { leading: 0, new: Vec::new(), kept: places(rules, &self.rules)? });
        }
        let leading = self.rules.iter().zip(rules).take_while(|(kept, original)| kept == original).count();
        let mut open = rules.len();
        let mut new = self.rules.len();
        while new > leading {
            let Some(place) = (leading..open).rev().find(|place| rules[*place] == self.rules[new - 1]) else { break };
            (open, new) = (place, new - 1);
        }
        let trailing = places(&rules[leading..], &self.rules[new..])?.into_iter().map(|place| leading + place);
        Ok(RuleOrder { leading, new: self.rules[leading..new].to_vec(), kept: (0..leading).chain(trailing).collect() })
    }

    /// Checks that `if ($hit = "") { break; }` skips nothing but comparisons of the variable with numbers: see
    /// [`super::groups`]. `is_last`: the statements are the last of a server.
    pub fn check_stop(&self, is_last: bool) -> Discharged<()> {
        let is_end = is_last && self.clears.is_none() && self.rules.is_empty();
        let stop = |node: &&Node<'t>| node.block.iter().flatten().any(|inner| inner.word(0) == b"break");
        match self.emitted.iter().position(stop) {
            None => Ok(()),
            Some(at) => {
                let name = self.emitted[at].word(1).strip_prefix(b"($").unwrap_or_default();
                let is_stop = !name.is_empty() && is_stop(self.emitted[at], name);
                let is_skipped = |node: &&'t Node<'t>| number(node, name).is_some();
                if is_end && is_stop && self.emitted[at + 1..].iter().all(is_skipped) {
                    return Ok(());
                }
                Err(Refutation::new("a `break` ends the script before its last statement"))
            }
        }
    }

    /// The statements that are not rules of the original.
    pub fn new_statements(&self) -> impl Iterator<Item = &'t Node<'t>> {
        self.emitted.iter().copied().chain(self.clears)
    }
}

/// Checks that `compiled` does what `rules` do.
pub fn check<'t>(
    rules: &[&'t Node<'t>],
    compiled: &CompiledForm<'t>,
    maps: &'t Maps<'t>,
    readings: &Readings,
    phase: Phase,
    captures_matter: bool,
    reruns: Option<&Reruns>,
) -> Discharged<Checked> {
    if compiled.emitted.is_empty() && compiled.rules == rules {
        return Ok(Checked { rules: rules.len(), ..Checked::default() });
    }
    let RuleOrder { leading, new, kept } = compiled.order(rules)?;
    let form = if compiled.emitted.is_empty() {
        Form::Listed(Listed::read(&new, maps)?)
    } else if phase == Phase::Server {
        Form::Guards(Guards::read(&compiled.emitted, maps, reruns)?)
    } else {
        return Err(Refutation::new("an `if` in a location would replace the location's configuration"));
    };
    if captures_matter {
        let clears = if compiled.clears.is_some() { Clears::Always } else { form.clears_captures() };
        check_captures(leading, &kept, clears)?;
    }
    let residual = Residual::new(kept.iter().map(|place| (*place, rules[*place].word(1))));
    let mut comparison =
        Comparison { rules, leading, form, residual, maps, readings, captures_matter, gone: HashMap::new() };
    let strings = comparison.strings(&kept)?;
    comparison.check_exact(&strings)?;
    let any_case = comparison.check_any_case(&strings)?;
    Ok(Checked { rules: rules.len(), gone: rules.len() - kept.len(), strings: strings.exact.len(), any_case })
}

/// Checks that `$1` to `$9` are as before for URIs that the compiled form does not answer: at its end, and before each
/// kept rule, which may fail and leave them as they were. A rule that does not match leaves them empty.
fn check_captures(leading: usize, kept: &[usize], form_clears: Clears) -> Discharged<()> {
    let (was_empty, clears) = match kept.first() {
        Some(first) => (*first > 0, if leading == 0 { form_clears } else { Clears::Never }),
        None => (true, form_clears),
    };
    match (was_empty, clears) {
        (true, Clears::Never | Clears::Sometimes) => {
            Err(Refutation::new("a URI that no rule matches keeps $1 to $9, which the original rules would clear"))
        }
        (false, Clears::Always | Clears::Sometimes) => {
            Err(Refutation::new("$1 to $9 are cleared before the first rule, which may fail and keep them"))
        }
        _ => Ok(()),
    }
}

/// Returns the places of the kept rules among all rules. They must be unchanged and in the same order.
fn places(rules: &[&Node], kept: &[&Node]) -> Discharged<Vec<usize>> {
    let mut places = Vec::with_capacity(kept.len());
    let mut all = rules.iter().enumerate();
    for rule in kept {
        let Some((place, _)) = all.find(|(_, original)| *original == rule) else {
            let pattern = rule.word(1).escape_ascii();
            return Err(Refutation::new(format!(
                "the kept rule {pattern} differs from the original or is out of order"
            )));
        };
        places.push(place);
    }
    Ok(places)
}

struct Comparison<'t, 'r> {
    rules: &'r [&'t Node<'t>],
    /// The number of unchanged rules before the compiled form: they do the same with a URI in both texts.
    leading: usize,
    form: Form<'t>,
    residual: Residual<'t>,
    maps: &'t Maps<'t>,
    readings: &'r Readings,
    captures_matter: bool,
    /// The patterns of removed rules that a declared reading changes.
    gone: HashMap<usize, Vec<u8>>,
}

impl<'t> Comparison<'t, '_> {
    /// Lists the strings of all removed rules and of the maps.
    fn strings(&mut self, kept: &[usize]) -> Discharged<GoneStrings> {
        let mut strings = GoneStrings::of_rules(self.rules.len() - kept.len());
        let mut kept = kept.iter().peekable();
        for place in 0..self.rules.len() {
            if kept.next_if_eq(&&place).is_none() {
                self.list(place, &mut strings)?;
            }
        }
        self.form.keys(|key| {
            match key.has_twin {
                true => strings.exact.add_twins(key.text, NOBODY),
                false => strings.exact.add(key.text, NOBODY),
            }
            if key.any_case {
                strings.any_case.add(&key.text.to_ascii_lowercase(), NOBODY);
            }
        });
        Ok(strings)
    }

    fn list(&mut self, place: usize, strings: &mut GoneStrings) -> Discharged<()> {
        let node = self.rules[place];
        let refute =
            |why: &str| Refutation::new(format!("the rule {} was removed, but {why}", node.word(1).escape_ascii()));
        let text = gone::declared(node.word(1), self.readings).map_err(|_| refute("it cannot be read"))?;
        strings.add(&text, place).map_err(refute)?;
        if let Cow::Owned(text) = text {
            self.gone.insert(place, text);
        }
        Ok(())
    }

    /// Checks P(s) = P'(s) for each listed string. The first that differs, in order, is the counterexample.
    fn check_exact(&self, strings: &GoneStrings) -> Discharged<()> {
        let check = |(string, owner): (&[u8], u32), near: &Near| {
            // `NOBODY` is the last of all places.
            let owner = owner.min(strings.any_case_owner(string));
            let fires = if owner == NOBODY { None } else { self.fires(string, owner as usize)? };
            let uri = Uri { text: string, any_case: false, near };
            // If the form does something else, that is no fault as long as a leading rule takes the URI before it.
            self.compare(uri, fires).or_else(|refutation| match self.residual.takes(string, 0..self.leading) {
                Matches::Yes => Ok(()),
                _ => Err(refutation),
            })
        };
        let check_part = |places| {
            let near = self.maps.near();
            strings.exact.part(places).try_for_each(|owned| check(owned, &near))
        };
        parallel::ranges(strings.exact.places(), check_part).into_iter().collect()
    }

    /// Returns the removed rule that fires on a URI: `owner`, which is the first removed rule that matches it, or
    /// `None` if a kept rule after the compiled form comes first.
    fn fires(&self, string: &[u8], owner: usize) -> Discharged<Option<usize>> {
        match self.residual.takes(string, self.leading..owner) {
            Matches::No => Ok(Some(owner)),
            Matches::Yes => Ok(None),
            Matches::Unknown => match self.residual.takes(string, 0..self.leading) {
                Matches::Yes => Ok(Some(owner)),
                _ => Err(Refutation::on("it is unknown whether an earlier kept rule matches the URI", string)),
            },
        }
    }

    /// As [`Comparison::check_exact`], for spellings that are not listed. One URI stands for all spellings of a string.
    fn check_any_case(&self, strings: &GoneStrings) -> Discharged<usize> {
        let mut checked = 0;
        let near = &self.maps.near();
        for (string, owner) in strings.any_case.iter() {
            if strings.lists_all_spellings(string) {
                continue;
            }
            checked += 1;
            if owner != NOBODY && self.residual.may_take_some_case(string, self.leading..owner as usize) {
                return Err(Refutation::on("an earlier kept rule may match the URI in another letter case", string));
            }
            self.compare(Uri { text: string, any_case: true, near }, (owner != NOBODY).then_some(owner as usize))?;
        }
        Ok(checked)
    }

    /// Runs both texts on a URI and compares the effects. `rule` is the rule that fires in the original, if it was
    /// removed.
    fn compare(&self, uri: Uri, rule: Option<usize>) -> Discharged<()> {
        let own_pattern = rule.map(|rule| self.pattern(rule));
        let own = |pattern: &[u8]| own_pattern == Some(pattern);
        let ran = self.form.run(uri, self.maps, self.captures_matter, &own);
        let expected = match rule {
            None => Some(Behaviour::Falls),
            Some(rule) => self.effect(rule, uri),
        };
        match (expected, ran) {
            (Some(expected), ran) if expected == ran && ran != Behaviour::Unknown => Ok(()),
            (Some(Behaviour::Fires(_)), Behaviour::Falls) => {
                Err(Refutation::on("a rule that fired no longer fires", uri.text))
            }
            (Some(Behaviour::Falls), Behaviour::Fires(_)) => {
                Err(Refutation::on("a rule fires that did not fire before", uri.text))
            }
            (_, Behaviour::Entered) => {
                Err(Refutation::on("a guard is true for a URI for which no rule fires", uri.text))
            }
            (Some(_), Behaviour::Fires(_)) => {
                Err(Refutation::on("the rule that fires has a different effect", uri.text))
            }
            _ => Err(Refutation::on("the effect of the rules is unknown", uri.text)),
        }
    }

    fn pattern(&self, rule: usize) -> &[u8] {
        self.gone.get(&rule).map_or(self.rules[rule].word(1), Vec::as_slice)
    }

    fn effect(&self, rule: usize, uri: Uri) -> Option<Behaviour<'_>> {
        let node = self.rules[rule];
        let rewrite = Rewrite::read(Cow::Borrowed(self.pattern(rule)), node.word(2), node.flag())?;
        rewrite.effect(uri, &|_| None, self.captures_matter).map(Behaviour::Fires)
    }
}
