//! Starts the language server of nginxopt for Zed: `nginxopt lsp` from the settings or from the PATH of the project.

use zed_extension_api::settings::LspSettings;
use zed_extension_api::{self as zed, serde_json, Command, LanguageServerId, Result, Worktree};

const SERVER: &str = "nginxopt";
const INSTALL: &str = "nginxopt is not on the PATH: install it with pipx install 'nginxopt[lsp]'";

struct Nginxopt;

impl zed::Extension for Nginxopt {
    fn new() -> Self {
        Self
    }

    /// `lsp.nginxopt.binary` of the settings may name another path or other arguments.
    fn language_server_command(&mut self, _: &LanguageServerId, worktree: &Worktree) -> Result<Command> {
        let stated = LspSettings::for_worktree(SERVER, worktree)?.binary;
        let (path, arguments) = stated.map_or((None, None), |binary| (binary.path, binary.arguments));
        let command = path.or_else(|| worktree.which(SERVER)).ok_or(INSTALL)?;
        let args = arguments.unwrap_or_else(|| vec!["lsp".into()]);
        Ok(Command { command, args, env: worktree.shell_env() })
    }

    /// Passes on `lsp.nginxopt.initialization_options`, such as `{"trusted": true}`.
    fn language_server_initialization_options(
        &mut self,
        _: &LanguageServerId,
        worktree: &Worktree,
    ) -> Result<Option<serde_json::Value>> {
        Ok(LspSettings::for_worktree(SERVER, worktree)?.initialization_options)
    }
}

zed::register_extension!(Nginxopt);
