//! Runs a request through the phases of nginx (`ngx_http_core_run_phases`).

use crate::request::bytes::Bytes;
use crate::request::levels::Settings;
use crate::request::model::Model;
use crate::request::outcome::{Outcome, PassedOver, Question, Step, StepKind, Unknown};
use crate::request::patterns::Captures;
use crate::request::record::Recorder;
use crate::request::site::{LevelId, Node};
use crate::request::state::State;
use crate::request::wire::Head;
use crate::request::world::{Exceeded, Request, World};

/// What a step takes that is kept, in bytes.
const STEP: usize = 128;

/// The phases, in the order in which they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    ServerRewrite,
    FindLocation,
    Rewrite,
    PostRewrite,
    Access,
    TryFiles,
    Content,
}

/// How a phase ends.
#[derive(Debug)]
pub enum Flow {
    /// The next phase runs.
    Next,
    /// This phase runs.
    To(Phase),
    /// The request ends with an error or a redirect of this status.
    Error(u16),
    Done(Box<Outcome>),
}

/// A request while it is processed.
pub struct Run<'m, R> {
    pub model: &'m Model,
    pub world: &'m World,
    pub request: &'m Request,
    pub head: &'m Head,
    pub recorder: &'m mut R,
    pub state: State,
    /// The address of the client; `None` if it is not known.
    pub client: Result<Option<Bytes>, Unknown>,
    /// For a subrequest: the method of the main request, which is the value of `$request_method`. Otherwise `None`.
    pub main_method: Option<Bytes>,
}

impl<'m, R: Recorder> Run<'m, R> {
    /// Runs the request from a phase, or from an error, to its outcome.
    pub fn run(&mut self, flow: Flow) -> Outcome {
        match self.phases(flow) {
            Ok(outcome) => outcome,
            Err(unknown) => self.unknown(unknown),
        }
    }

    fn phases(&mut self, mut flow: Flow) -> Result<Outcome, Unknown> {
        let mut phase = Phase::ServerRewrite;
        loop {
            phase = match flow {
                Flow::Next => phase.next(),
                Flow::To(phase) => phase,
                Flow::Error(status) => {
                    flow = self.finalize(status)?;
                    continue;
                }
                Flow::Done(outcome) => return Ok(*outcome),
            };
            flow = self.phase(phase)?;
        }
    }

    fn phase(&mut self, phase: Phase) -> Result<Flow, Unknown> {
        match phase {
            Phase::ServerRewrite => self.script(self.state.level),
            Phase::FindLocation => self.find_location(),
            Phase::Rewrite if self.state.level == self.server_level() => Ok(Flow::Next),
            Phase::Rewrite => self.script(self.location_level()),
            Phase::PostRewrite => Ok(self.post_rewrite()),
            Phase::Access => {
                if let Some(limit) = self.exceeded_limit() {
                    self.state.is_limited = true;
                    return Ok(self.fail(limit.status, Some(limit.node)));
                }
                self.state.has_read_body = true;
                self.check_opaque()?;
                self.find_client();
                self.access()
            }
            Phase::TryFiles => self.try_files(),
            Phase::Content => self.content(),
        }
    }

    /// The limit that refuses the request before the access phase, once (`r->main->limit_req_status`).
    fn exceeded_limit(&self) -> Option<Exceeded> {
        self.world.exceeded.filter(|limit| limit.level == self.state.level && !self.state.is_limited)
    }

    /// The settings of the level in force.
    pub fn settings(&self) -> &'m Settings {
        &self.model.settings[self.state.level]
    }

    pub fn server_level(&self) -> LevelId {
        self.model.site.servers[self.state.server].level
    }

    /// Fails if a part of the level is not understood.
    pub fn check_opaque(&self) -> Result<(), Unknown> {
        self.settings().opaque.clone().map_or(Ok(()), Err)
    }

    /// Counts a step, and the bytes that it makes. Fails if the request costs more than is allowed.
    pub fn spend(&mut self, bytes: usize) -> Result<(), Unknown> {
        let limits = self.world.limits;
        let spent = &mut self.state.spent;
        spent.steps += 1;
        spent.bytes += bytes as u64;
        let reason = if spent.steps > limits.steps {
            format!("too much: more than {} steps for one request (budget steps)", limits.steps)
        } else if spent.bytes > limits.bytes {
            format!("too much: values of more than {} bytes in one request (budget value-bytes)", limits.bytes)
        } else {
            return Ok(());
        };
        Err(Unknown { reason, node: None, question: None })
    }

    /// Sets the numbered captures of a match, and the variables of its named groups.
    pub fn capture(&mut self, captures: Captures) {
        let named = captures.named.iter().map(|(_, value)| value.len());
        let length: usize = captures.groups.iter().flatten().map(|group| group.len()).chain(named).sum();
        self.state.spent.bytes += length as u64;
        self.state.captures = captures.groups;
        self.state.captures_unknown = None;
        for (name, value) in captures.named {
            if let Some(variable) = self.model.variables.find(&name) {
                self.keep(variable, Ok(value.0));
            }
        }
    }

    pub fn uri_with_args(&self) -> Vec<u8> {
        let mut text = self.state.uri.clone();
        if !self.state.args.is_empty() {
            text.push(b'?');
            text.extend_from_slice(&self.state.args);
        }
        text
    }

    /// Keeps a step, if steps are kept.
    pub fn note(&mut self, kind: StepKind, node: Option<Node>, detail: impl FnOnce() -> Vec<u8>) {
        if R::STEPS {
            self.note_step(kind, node, detail(), Vec::new(), Vec::new());
        }
    }

    pub fn note_step(
        &mut self,
        kind: StepKind,
        node: Option<Node>,
        detail: Vec<u8>,
        captures: Vec<Option<Bytes>>,
        passed_over: Vec<PassedOver>,
    ) {
        let length: usize = captures.iter().flatten().map(|group| group.len()).sum();
        let reasons: usize = passed_over.iter().map(|other| other.reason.len() + STEP).sum();
        self.state.spent.bytes += (STEP + detail.len() + length + reasons) as u64;
        self.recorder.keep(Step { kind, node, detail: Bytes(detail), captures, passed_over });
    }
}

impl Phase {
    fn next(self) -> Phase {
        match self {
            Phase::ServerRewrite => Phase::FindLocation,
            Phase::FindLocation => Phase::Rewrite,
            Phase::Rewrite => Phase::PostRewrite,
            Phase::PostRewrite => Phase::Access,
            Phase::Access => Phase::TryFiles,
            Phase::TryFiles | Phase::Content => Phase::Content,
        }
    }
}

/// The error for something that depends on the unknown value of a variable.
pub fn unknown_variable(name: &[u8], reason: String) -> Unknown {
    let question = Some(Question::Variable { name: name.into() });
    Unknown { reason, node: None, question }
}
