//! Enters the location of a URI, and follows internal redirects.

use crate::request::outcome::{StepKind, Unknown};
use crate::request::record::Recorder;
use crate::request::run::{Flow, Phase, Run};
use crate::request::site::{LevelId, Node};
use crate::request::uri::{self, Escape};

impl<R: Recorder> Run<'_, R> {
    /// `ngx_http_core_find_config_phase`
    pub fn find_location(&mut self) -> Result<Flow, Unknown> {
        self.state.handler = None;
        self.state.uri_changed = false;
        let locations = &self.model.locations[self.state.server];
        let selection = locations.select(&self.state.uri)?;
        if R::TRIES {
            for (level, tries) in locations.tries(&self.state.uri) {
                self.recorder.tries(self.model.settings[level].node, tries);
            }
        }
        for captures in &selection.captures {
            self.capture(captures.clone());
        }
        self.state.level = selection.location.unwrap_or_else(|| self.server_level());
        let node = self.settings().node;
        if selection.location.is_some() {
            self.recorder.uses(node);
        }
        if R::STEPS {
            let captures = self.state.captures.clone();
            let captures = if selection.captures.is_empty() { Vec::new() } else { captures };
            let passed_over = locations.passed_over(&self.state.uri);
            let node = selection.location.map(|_| node);
            self.note_step(StepKind::Location, node, self.state.uri.clone(), captures, passed_over);
        }
        let settings = self.settings();
        if !self.state.internal && settings.internal.clone()? {
            return Ok(self.fail(404, Some(node)));
        }
        self.update_location();
        let limit = self.settings().max_body_size.clone()?;
        if limit > 0 && !self.state.is_body_discarded && self.head.content_length.is_some_and(|length| length > limit) {
            self.state.is_body_discarded = true;
            return Ok(self.fail(413, Some(node)));
        }
        if selection.redirect {
            return Ok(self.redirect_to_name(selection.location.unwrap_or_default(), node));
        }
        Ok(Flow::Next)
    }

    /// `/a` is redirected to the location `/a/`.
    fn redirect_to_name(&mut self, location: LevelId, node: Node) -> Flow {
        let name = self.model.site.levels[location].plain_name().unwrap_or_default();
        let build = &self.model.site.build;
        let mut target =
            if build.escapes_names() { uri::escape(name, Escape::Uri, build.version) } else { name.to_vec() };
        if !self.state.args.is_empty() {
            target.push(b'?');
            target.extend_from_slice(&self.state.args);
        }
        self.state.location = Some(Ok(target));
        self.fail(301, Some(node))
    }

    /// Takes the settings of the level, or of its `limit_except` if the method is not one that it names
    /// (`ngx_http_update_location_config`).
    pub fn update_location(&mut self) {
        if let Some(level) = self.model.limit_excepts[self.state.level].as_ref()
            && level.applies_to(&self.state.method)
        {
            self.state.level = level.level;
        }
        if let Ok(Some(handler)) = &self.settings().handler {
            self.state.handler = Some(*handler);
        }
    }

    /// The level whose script runs in the current location.
    pub fn location_level(&self) -> LevelId {
        self.state.level
    }

    /// `ngx_http_core_post_rewrite_phase`
    pub fn post_rewrite(&mut self) -> Flow {
        if !self.state.uri_changed {
            return Flow::Next;
        }
        if !self.changes() {
            return Flow::Error(500);
        }
        self.state.level = self.server_level();
        Flow::To(Phase::FindLocation)
    }

    /// Counts a change of the URI. `false` if there have been too many.
    fn changes(&mut self) -> bool {
        self.state.changes_left = self.state.changes_left.saturating_sub(1);
        self.state.changes_left > 0
    }

    /// `ngx_http_internal_redirect`
    pub fn internal_redirect(&mut self, uri: Vec<u8>, args: Vec<u8>, node: Node) -> Flow {
        if !self.changes() {
            return self.fail(500, Some(node));
        }
        self.state.uri = uri;
        self.state.args = args;
        let state = &mut self.state;
        state.is_return = false;
        state.missing = None;
        state.fastcgi = None;
        state.link_expires = None;
        state.internal = true;
        state.valid_unparsed_uri = false;
        state.add_uri_to_alias = false;
        state.valid_location = true;
        self.state.level = self.server_level();
        self.note(StepKind::Internal, Some(node), Vec::new);
        Flow::To(Phase::ServerRewrite)
    }

    /// `ngx_http_named_location`
    pub fn named_location(&mut self, name: &[u8], node: Node) -> Flow {
        let location = self.model.locations[self.state.server].named(name);
        let (true, false, Some(location)) = (self.changes(), self.state.uri.is_empty(), location) else {
            return self.fail(500, Some(node));
        };
        self.state.is_return = false;
        self.state.missing = None;
        self.state.fastcgi = None;
        self.state.link_expires = None;
        self.state.internal = true;
        self.state.handler = None;
        self.state.uri_changed = false;
        self.state.level = location;
        self.recorder.uses(self.model.settings[location].node);
        self.note(StepKind::Internal, Some(node), || name.to_vec());
        self.update_location();
        Flow::To(Phase::Rewrite)
    }
}
