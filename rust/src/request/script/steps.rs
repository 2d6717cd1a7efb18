//! Scripts with compiled values.

use crate::request::outcome::Unknown;
use crate::request::patterns::Patterns;
use crate::request::refused::Refused;
use crate::request::rules::{self, Code, Condition, FileTest, Flag, Rewrite};
use crate::request::site::{LevelId, Node};
use crate::request::value::Value;
use crate::request::variables::{Assigned, VariableId, Variables};

/// A script with compiled values.
pub struct Script {
    pub(super) steps: Vec<Step>,
}

pub(super) enum Step {
    Set {
        node: Node,
        variable: VariableId,
        value: Value,
    },
    If {
        node: Node,
        test: Test,
        level: LevelId,
    },
    /// The rewrites and their targets.
    Rewrites(Box<rules::Run>, Vec<Value>),
    Return {
        node: Node,
        status: u16,
        text: Option<Value>,
    },
    Break {
        node: Node,
    },
    Opaque(Unknown),
}

pub(super) enum Test {
    IsTrue(VariableId),
    Equals { variable: VariableId, value: Value, negated: bool },
    Matches { variable: VariableId, pattern: Box<Patterns>, negated: bool },
    File { test: FileTest, path: Value, negated: bool },
}

impl Script {
    /// Compiles a script. Adds the names of the variables that it sets to `assigned`. Fails with the message of nginx.
    pub fn compile(
        script: rules::Script,
        variables: &mut Variables,
        assigned: &mut Assigned,
    ) -> Result<Script, Refused> {
        let mut steps = Vec::with_capacity(script.codes.len());
        for code in script.codes {
            steps.push(Step::compile(code, variables, assigned)?);
        }
        Ok(Script { steps })
    }

    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}

impl Step {
    /// The directive, the first one of several rewrites.
    pub(super) fn node(&self) -> Option<Node> {
        match self {
            Step::Set { node, .. } | Step::If { node, .. } | Step::Return { node, .. } | Step::Break { node } => {
                Some(*node)
            }
            Step::Rewrites(run, _) => run.rewrites().first().map(|rewrite| rewrite.node),
            Step::Opaque(unknown) => unknown.node,
        }
    }

    fn compile(code: Code, variables: &mut Variables, assigned: &mut Assigned) -> Result<Step, Refused> {
        let parse = |node: Node, text: &[u8], variables: &mut Variables| {
            Value::parse(text, variables).map_err(|message| Refused::new(node, message))
        };
        Ok(match code {
            Code::Set { node, variable, value } => {
                assigned.add_set(&variable);
                Step::Set { node, variable: variables.intern(&variable), value: parse(node, &value, variables)? }
            }
            Code::If { node, condition, level } => {
                let test = match condition {
                    Condition::IsTrue { variable } => Test::IsTrue(variables.intern(&variable)),
                    Condition::Equals { variable, value, negated } => {
                        let value = parse(node, &value, variables)?;
                        Test::Equals { variable: variables.intern(&variable), value, negated }
                    }
                    Condition::Matches { variable, pattern, negated } => {
                        assigned.add_groups(&pattern.get(0).text);
                        Test::Matches { variable: variables.intern(&variable), pattern, negated }
                    }
                    Condition::File { test, path, negated } => {
                        Test::File { test, path: parse(node, &path, variables)?, negated }
                    }
                };
                Step::If { node, test, level }
            }
            Code::Rewrites(run) => {
                run.rewrites().iter().for_each(|rewrite| assigned.add_groups(&rewrite.pattern));
                let target = |rewrite: &Rewrite| {
                    let is_redirect = matches!(rewrite.flag, Flag::Redirect(_));
                    let parse = if is_redirect { Value::parse } else { Value::parse_target };
                    parse(&rewrite.replacement, variables).map_err(|message| Refused::new(rewrite.node, message))
                };
                let targets = run.rewrites().iter().map(target).collect::<Result<_, _>>()?;
                Step::Rewrites(run, targets)
            }
            Code::Return(statement) => {
                let text = statement.text.filter(|text| !text.is_empty() || statement.status < 400);
                let text = text.map(|text| parse(statement.node, &text, variables)).transpose()?;
                Step::Return { node: statement.node, status: statement.status, text }
            }
            Code::Break { node } => Step::Break { node },
            Code::Opaque(opaque) => {
                Step::Opaque(Unknown { reason: opaque.reason, node: Some(opaque.node), question: None })
            }
        })
    }
}
