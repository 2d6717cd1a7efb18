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
use crate::request::world::{Existing, Files, Found};

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

impl Files {
    /// Whether a branch has settled what is at a path that is `simple`.
    pub fn is_tried(&self, path: &[u8]) -> bool {
        self.tried.iter().any(|(tried, _)| **tried == *path)
    }

    /// What is at a path by what the branch has settled; `None` if that does not tell.
    fn of_branch(&self, path: &[u8]) -> Option<Answer> {
        self.tried.iter().find_map(|(tried, found)| match found {
            _ if **tried == *path => Some(found.map_or(Answer::Missing, Answer::Found)),
            Some(_) if is_below(tried, path) => Some(Answer::Found(Found::Folder)),
            Some(Found::File | Found::Other) | None if is_below(path, tried) => Some(Answer::Missing),
            _ => None,
        })
    }

    /// Whether a file is where the path has a folder, or a folder above it is missing or has no such entry.
    fn lacks(&self, path: &[u8]) -> bool {
        let is_missing = |folder: &[u8]| {
            self.missing.contains(&Bytes(folder.to_vec())) || self.missing.contains(&Bytes([folder, b"/"].concat()))
        };
        let above = || (0..path.len()).filter(|end| path[*end] == b'/').map(|end| &path[..end]);
        is_missing(path)
            || above().any(|folder| is_missing(folder) || self.existing.is_file(folder))
            || self.listed.iter().any(|folder| path == &folder[..] || is_below(path, folder))
    }
}

impl Existing {
    fn is_folder(&self, path: &[u8]) -> bool {
        self.folders.contains(&Bytes(path.to_vec()))
    }

    fn is_file(&self, path: &[u8]) -> bool {
        self.files.contains(&Bytes(path.to_vec())) && !self.is_folder(path)
    }
}

impl From<Vec<Bytes>> for Existing {
    fn from(paths: Vec<Bytes>) -> Existing {
        let mut existing = Existing::default();
        for path in paths {
            let ends = (1..path.len()).filter(|end| path[*end] == b'/');
            existing.folders.extend(ends.map(|end| Bytes(path[..end].to_vec())));
            existing.files.insert(path);
        }
        existing
    }
}

fn is_below(path: &[u8], folder: &[u8]) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with(b"/") || folder == b"/")
}

fn answer(files: &Files, path: &[u8]) -> Answer {
    let path = simple(path);
    if let Some(answer) = files.of_branch(&path) {
        answer
    } else if files.existing.is_folder(&path) {
        Answer::Found(Found::Folder)
    } else if files.existing.is_file(&path) {
        Answer::Found(Found::File)
    } else if files.lacks(&path) {
        Answer::Missing
    } else if files.disk {
        ask_disk(files, &path)
    } else {
        Answer::Unknown
    }
}

/// Removes repeated and final slashes from a path.
pub fn simple(path: &[u8]) -> Vec<u8> {
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
