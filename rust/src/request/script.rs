//! How scripts of the rewrite module run (`ngx_http_rewrite_handler`).

mod examples;
mod steps;

pub use examples::Example;
pub use steps::Script;

use crate::first_match::Tries;
use crate::request::bytes::Bytes;
use crate::request::outcome::{OutcomeKind, StepKind, Unknown};
use crate::request::patterns::Captures;
use crate::request::record::Recorder;
use crate::request::response::Response;
use crate::request::rules::{self, FileTest, Flag, Rewrite};
use crate::request::run::{Flow, Run};
use crate::request::site::{LevelId, Node};
use crate::request::uri;
use crate::request::value::Value;
use crate::request::variables::VariableId;
use crate::request::world::Found;

use steps::{Step, Test};

/// A `return` without text sends this.
static EMPTY: Value = Value::EMPTY;

/// To look for a file takes as long as so many conditions.
const CONDITIONS_OF_A_FILE: u64 = 5;

/// How captures and variables are written (`ngx_http_script_engine_t`).
#[derive(Clone, Copy, Default)]
pub struct Engine {
    pub quote: bool,
    pub is_args: bool,
    /// Whether variables that were computed are not computed anew (`e->flushed`).
    pub is_flushed: bool,
}

impl Engine {
    pub const FLUSHED: Engine = Engine { quote: false, is_args: false, is_flushed: true };
}

impl<R: Recorder> Run<'_, R> {
    /// Runs the script of the level at hand.
    pub fn script(&mut self, level: LevelId) -> Result<Flow, Unknown> {
        let script = &self.model.scripts[level];
        let mut engine = Engine { quote: true, ..Engine::default() };
        Ok(self.steps(script, &mut engine)?.unwrap_or(Flow::Next))
    }

    /// Runs a script; `None` if the one around it goes on.
    fn steps(&mut self, script: &Script, engine: &mut Engine) -> Result<Option<Flow>, Unknown> {
        for step in &script.steps {
            self.spend(0).map_err(|unknown| Unknown { node: step.node(), ..unknown })?;
            match step {
                Step::Set { node, variable, value } => self.set(*node, *variable, value, *engine)?,
                Step::If { node, test, level } => {
                    if R::TRIES {
                        let conditions = if matches!(test, Test::File { .. }) { CONDITIONS_OF_A_FILE } else { 1 };
                        self.recorder.tries(*node, Tries { conditions, ..Tries::default() });
                    }
                    let is_true = self.test(*node, test, *engine)?;
                    self.note(StepKind::If, Some(*node), || if is_true { b"true".to_vec() } else { b"false".to_vec() });
                    if is_true {
                        self.recorder.uses(*node);
                        self.enter_if(*level);
                        let model = self.model;
                        if let Some(flow) = self.steps(&model.scripts[*level], engine)? {
                            return Ok(Some(flow));
                        }
                    }
                }
                Step::Rewrites(run, targets) => {
                    if let Some(flow) = self.rewrites(run, targets, engine)? {
                        return Ok(Some(flow));
                    }
                }
                Step::Return { node, status, text } => return self.return_(*node, *status, text.as_ref()).map(Some),
                Step::Break { node } => {
                    self.note(StepKind::Break, Some(*node), Vec::new);
                    if self.state.uri_changed {
                        self.state.valid_location = false;
                        self.state.uri_changed = false;
                    }
                    return Ok(Some(Flow::Next));
                }
                Step::Opaque(unknown) => return Err(unknown.clone()),
            }
        }
        Ok(None)
    }

    fn set(&mut self, node: Node, variable: VariableId, value: &Value, engine: Engine) -> Result<(), Unknown> {
        if R::TRIES {
            self.recorder.tries(node, Tries { sets: 1, ..Tries::default() });
        }
        let value = self.evaluate_in(value, engine);
        self.note(StepKind::Set, Some(node), || match &value {
            Ok(value) => value.clone(),
            Err(unknown) => unknown.reason.clone().into_bytes(),
        });
        self.assign(variable, value)
    }

    /// A true `if` of a location changes the settings (`ngx_http_script_if_code`).
    fn enter_if(&mut self, level: LevelId) {
        if !self.model.is_in_server(level) {
            self.state.level = level;
            self.update_location();
        }
    }

    fn test(&mut self, node: Node, test: &Test, engine: Engine) -> Result<bool, Unknown> {
        match test {
            Test::IsTrue(variable) => {
                let value = self.variable(*variable).map_err(|unknown| at(unknown, node))?;
                Ok(!value.is_empty() && value != b"0")
            }
            Test::Equals { variable, value, negated } => {
                let left = self.variable(*variable).map_err(|unknown| at(unknown, node))?;
                let right = self.evaluate_in(value, engine).map_err(|unknown| at(unknown, node))?;
                Ok((left == right) != *negated)
            }
            Test::Matches { variable, pattern, negated } => {
                let subject = self.variable(*variable).map_err(|unknown| at(unknown, node))?;
                self.check_path_info(*variable, &subject, node)?;
                let first = pattern.first(&subject, 0..1)?;
                if R::TRIES {
                    self.recorder.tries(node, pattern.tries(&subject, 0..1, first));
                }
                let is_match = first.is_some();
                let captures = if is_match { pattern.captures(0, &subject)? } else { Captures::default() };
                self.capture(captures);
                Ok(is_match != *negated)
            }
            Test::File { test, path, negated } => {
                let path = self.evaluate_in(path, engine).map_err(|unknown| at(unknown, node))?;
                let is_true = match test {
                    FileTest::Executable => self.is_executable(&path, node)?,
                    FileTest::File => self.look_up(&path, node)? == Some(Found::File),
                    FileTest::Directory => self.look_up(&path, node)? == Some(Found::Folder),
                    FileTest::Exists => matches!(self.look_up(&path, node)?, Some(Found::File | Found::Folder)),
                };
                Ok(is_true != *negated)
            }
        }
    }

    fn rewrites(&mut self, run: &rules::Run, targets: &[Value], engine: &mut Engine) -> Result<Option<Flow>, Unknown> {
        let mut from = 0;
        while from < targets.len() {
            let hit = run.first(&self.state.uri, from)?;
            if R::TRIES {
                let tries = run.tries(&self.state.uri, from, hit.as_ref().map(|hit| hit.rule));
                self.recorder.tries(run.rewrites()[0].node, tries);
            }
            let Some(hit) = hit else { break };
            let (rewrite, target) = (&run.rewrites()[hit.rule], &targets[hit.rule]);
            self.recorder.uses(rewrite.node);
            self.capture(hit.captures);
            if let Some(flow) = self.rewrite(rewrite, target, engine)? {
                return Ok(Some(flow));
            }
            from = hit.rule + 1;
        }
        // The pattern tried last did not match.
        if from < targets.len() {
            self.capture(Captures::default());
        }
        Ok(None)
    }

    /// A rewrite that matched (`ngx_http_script_regex_start_code`, `ngx_http_script_regex_end_code`).
    fn rewrite(&mut self, rewrite: &Rewrite, target: &Value, engine: &mut Engine) -> Result<Option<Flow>, Unknown> {
        self.state.internal = true;
        self.state.valid_unparsed_uri = false;
        let is_break = rewrite.flag == Flag::Break;
        if is_break {
            self.state.valid_location = false;
        }
        self.state.uri_changed = !is_break;
        engine.is_args = false;
        engine.quote = matches!(rewrite.flag, Flag::Redirect(_));
        if let Flag::Redirect(status) = rewrite.flag {
            let location = self.evaluate_target(target, *engine);
            let location = location.map(|(text, _)| self.redirect_target(rewrite, target, &text));
            engine.quote = false;
            self.note_rewrite(rewrite, || location.clone().unwrap_or_default());
            self.state.location = Some(location);
            return Ok(Some(self.fail(status, Some(rewrite.node))));
        }
        let (new, args) = self.evaluate_target(target, Engine::default())?;
        match args {
            Some(mut args) => {
                if rewrite.adds_args && !self.state.args.is_empty() {
                    args.push(b'&');
                    args.extend_from_slice(&self.state.args);
                }
                self.state.args = args;
                engine.is_args = self.model.site.build.keeps_is_args();
            }
            None if !rewrite.adds_args => self.state.args.clear(),
            None => {}
        }
        self.state.uri = new;
        self.note_rewrite(rewrite, Vec::new);
        if self.state.uri.is_empty() {
            return Ok(Some(self.fail(500, Some(rewrite.node))));
        }
        Ok((rewrite.flag != Flag::None).then_some(Flow::Next))
    }

    fn redirect_target(&self, rewrite: &Rewrite, target: &Value, text: &[u8]) -> Vec<u8> {
        let mut location = uri::redirect_target(text);
        if rewrite.adds_args && !self.state.args.is_empty() {
            location.push(if target.has_question_mark() { b'&' } else { b'?' });
            location.extend_from_slice(&self.state.args);
        }
        location
    }

    fn note_rewrite(&mut self, rewrite: &Rewrite, location: impl FnOnce() -> Vec<u8>) {
        if R::STEPS {
            let mut detail = location();
            if !matches!(rewrite.flag, Flag::Redirect(_)) {
                detail = self.uri_with_args();
            }
            let captures = self.state.captures.clone();
            self.note_step(StepKind::Rewrite, Some(rewrite.node), detail, captures, Vec::new());
        }
    }

    /// `ngx_http_script_return_code`, `ngx_http_send_response`
    fn return_(&mut self, node: Node, status: u16, text: Option<&Value>) -> Result<Flow, Unknown> {
        self.recorder.uses(node);
        self.state.is_return = true;
        self.note(StepKind::Return, Some(node), || status.to_string().into_bytes());
        let Some(value) = text.or((status < 400).then_some(&EMPTY)) else { return Ok(self.fail(status, Some(node))) };
        self.state.is_body_discarded = true;
        self.state.status = status;
        let text = self.evaluate(value);
        if matches!(status, 301 | 302 | 303 | 307 | 308) {
            self.state.location = Some(text);
            return Ok(self.fail(status, Some(node)));
        }
        let (body, unknown) = match text {
            Ok(text) => (Some(Bytes(text)), None),
            Err(unknown) => (None, Some(unknown)),
        };
        let kind = OutcomeKind::Return;
        self.respond(Response { kind, status: Some(status), node: Some(node), body, unknown, ..Response::default() })
    }
}

/// An unknown value, asked for at a directive.
fn at(unknown: Unknown, node: Node) -> Unknown {
    Unknown { node: unknown.node.or(Some(node)), ..unknown }
}
