//! Finds out whether files exist, on the disk or as the user assumes.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::{fs, io};

use crate::request::bytes::Bytes;
use crate::request::outcome::{Question, Unknown};
use crate::request::record::Recorder;
use crate::request::run::Run;
use crate::request::site::Node;
use crate::request::world::Files;

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    File,
    Folder,
    /// A device, a pipe, a socket.
    Other,
}

/// The answer of the world, if it knows one.
enum Answer {
    Found(Found),
    Missing,
    Unknown,
}

impl<R: Recorder> Run<'_, R> {
    /// Returns what is at a path; `None` if nothing is.
    pub fn look_up(&self, path: &[u8], node: Node) -> Result<Option<Found>, Unknown> {
        match answer(&self.world.files, path) {
            Answer::Found(Found::File | Found::Other) if path.ends_with(b"/") => Ok(None),
            Answer::Found(found) => Ok(Some(found)),
            Answer::Missing => Ok(None),
            Answer::Unknown => Err(unknown("whether", path, "exists", node)),
        }
    }

    /// Whether the path is a folder, or a file that its owner may execute.
    pub fn is_executable(&self, path: &[u8], node: Node) -> Result<bool, Unknown> {
        match self.look_up(path, node)? {
            Some(Found::Folder) => Ok(true),
            Some(_) if self.world.files.disk => match fs::metadata(on_disk(&self.world.files, path)) {
                Ok(metadata) => Ok(metadata.permissions().mode() & 0o100 != 0),
                Err(_) => Err(unknown("whether", path, "is executable", node)),
            },
            Some(_) => Err(unknown("whether", path, "is executable", node)),
            None => Ok(false),
        }
    }
}

fn unknown(before: &str, path: &[u8], behind: &str, node: Node) -> Unknown {
    let reason = format!("{before} {} {behind}", path.escape_ascii());
    Unknown { reason, node: Some(node), question: Some(Question::File { path: Bytes(path.to_vec()) }) }
}

fn answer(files: &Files, path: &[u8]) -> Answer {
    let path = simple(path);
    let folder = Bytes([&path, &b"/"[..]].concat());
    if files.existing.contains(&folder) || files.existing.iter().any(|file| file.starts_with(&folder)) {
        return Answer::Found(Found::Folder);
    }
    if files.existing.contains(&Bytes(path.clone())) {
        return Answer::Found(Found::File);
    }
    let is_missing = |end: usize| {
        files.missing.contains(&Bytes(path[..end].to_vec())) || files.missing.contains(&Bytes(path[..=end].to_vec()))
    };
    let slashes = (0..path.len()).filter(|end| path[*end] == b'/');
    if slashes.into_iter().any(is_missing)
        || files.missing.contains(&Bytes(path.clone()))
        || files.missing.contains(&folder)
    {
        return Answer::Missing;
    }
    if files.disk { ask_disk(files, &path) } else { Answer::Unknown }
}

/// Removes repeated and final slashes from a path.
fn simple(path: &[u8]) -> Vec<u8> {
    let mut path = path.to_vec();
    path.dedup_by(|next, before| *next == b'/' && *before == b'/');
    if path.len() > 1 && path.ends_with(b"/") {
        path.pop();
    }
    path
}

fn ask_disk(files: &Files, path: &[u8]) -> Answer {
    match fs::metadata(on_disk(files, path)) {
        Ok(metadata) if metadata.is_dir() => Answer::Found(Found::Folder),
        Ok(metadata) if metadata.is_file() => Answer::Found(Found::File),
        Ok(_) => Answer::Found(Found::Other),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidFilename => Answer::Missing,
            _ => Answer::Unknown,
        },
    }
}

fn on_disk(files: &Files, path: &[u8]) -> PathBuf {
    let path = PathBuf::from(OsString::from_vec(path.to_vec()));
    match &files.root {
        Some(root) => PathBuf::from(root).join(path.strip_prefix("/").unwrap_or(&path)),
        None => path,
    }
}
