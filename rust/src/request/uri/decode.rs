//! Decodes the path of a request once, and removes dot segments (`ngx_http_parse_complex_uri`).

/// The path that a client sent, as nginx stores it, and what follows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decoded {
    /// `$uri`: decoded once, without dot segments.
    pub path: Vec<u8>,
    /// `$args`: what follows the first `?`, neither decoded nor checked.
    pub args: Vec<u8>,
    /// The offset in the path of the extension by which nginx determines the type of a file.
    extension: Option<usize>,
    /// Whether the client's path has a `%` (`r->quoted_uri`).
    pub quoted: bool,
    /// Whether the client's path has a `+`, written so or escaped (`r->plus_in_uri`).
    pub plus: bool,
}

impl Decoded {
    /// What follows the last dot of the last segment, unless the segment begins with it.
    pub fn extension(&self) -> &[u8] {
        self.extension.map_or(b"", |start| &self.path[start..])
    }
}

/// The position of the decoder in a segment.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Within,
    AfterSlash,
    AfterDot,
    AfterTwoDots,
}

/// Decodes the target of a request, without scheme and host. It may be just arguments. `None` if nginx answers 400.
/// O(length).
pub fn decode(target: &[u8], merge_slashes: bool) -> Option<Decoded> {
    if is_plain(target) { Some(plain(target)) } else { decode_slowly(target, merge_slashes) }
}

/// Whether the path is already as in `$uri`: it has no escapes, and no dots or slashes to remove. Most requests have
/// such a path.
pub fn is_plain(target: &[u8]) -> bool {
    let is_special = |pair: &[u8]| pair[0] == b'/' && matches!(pair[1], b'/' | b'.');
    target.starts_with(b"/") && memchr::memchr2(b'%', b'#', target).is_none() && !target.windows(2).any(is_special)
}

/// Decodes a plain target.
fn plain(target: &[u8]) -> Decoded {
    let end = memchr::memchr(b'?', target).unwrap_or(target.len());
    let path = &target[..end];
    let last = path.iter().rposition(|byte| matches!(byte, b'.' | b'/')).filter(|last| path[*last] == b'.');
    Decoded {
        path: path.to_vec(),
        args: target.get(end + 1..).unwrap_or_default().to_vec(),
        extension: last.map(|dot| dot + 1),
        quoted: false,
        plus: path.contains(&b'+'),
    }
}

pub(super) fn decode_slowly(target: &[u8], merge_slashes: bool) -> Option<Decoded> {
    let path = if target.starts_with(b"/") { Vec::with_capacity(target.len()) } else { b"/".to_vec() };
    let mut decoder = Decoder { uri: Decoded { path, ..Decoded::default() }, place: Place::Within, merge_slashes };
    let mut rest = target;
    while let [byte, after @ ..] = rest {
        rest = after;
        match byte {
            b'?' | b'#' => {
                decoder.end()?;
                let arguments = if *byte == b'?' { after } else { b"" };
                let end = arguments.iter().position(|byte| *byte == b'#').unwrap_or(arguments.len());
                decoder.uri.args = arguments[..end].to_vec();
                return Some(decoder.uri);
            }
            b'%' => {
                let (decoded, after) = escaped(after)?;
                decoder.uri.quoted = true;
                rest = after;
                match decoded {
                    0 => return None,
                    b'%' | b'#' | b'?' => decoder.plain(decoded),
                    _ => decoder.byte(decoded)?,
                }
            }
            byte => decoder.byte(*byte)?,
        }
    }
    decoder.end()?;
    Some(decoder.uri)
}

/// Reads a byte written as two hexadecimal digits. Also returns what follows them.
fn escaped(text: &[u8]) -> Option<(u8, &[u8])> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let [high, low, after @ ..] = text else { return None };
    let byte = 16 * digit(*high)? + digit(*low)?;
    Some((byte as u8, after))
}

struct Decoder {
    uri: Decoded,
    place: Place,
    merge_slashes: bool,
}

impl Decoder {
    /// Handles a byte that does not end the path, whether it was escaped or not.
    fn byte(&mut self, byte: u8) -> Option<()> {
        match (byte, self.place) {
            (b'/', Place::AfterSlash) if self.merge_slashes => {}
            (b'/', Place::AfterDot | Place::AfterTwoDots) => {
                self.end()?;
                self.place = Place::AfterSlash;
            }
            (b'/', _) => {
                self.uri.path.push(b'/');
                self.uri.extension = None;
                self.place = Place::AfterSlash;
            }
            (b'.', Place::AfterSlash) => self.dot(Place::AfterDot),
            (b'.', Place::AfterDot) => self.dot(Place::AfterTwoDots),
            (b'.', Place::Within) => {
                self.uri.path.push(b'.');
                self.uri.extension = Some(self.uri.path.len());
            }
            _ => self.plain(byte),
        }
        Some(())
    }

    fn dot(&mut self, place: Place) {
        self.uri.path.push(b'.');
        self.place = place;
    }

    /// Handles a byte without a special meaning.
    fn plain(&mut self, byte: u8) {
        self.uri.plus |= byte == b'+';
        self.uri.path.push(byte);
        self.place = Place::Within;
    }

    /// Removes the dot segment that ends here, and the segment before it if there are two dots.
    fn end(&mut self) -> Option<()> {
        let path = &mut self.uri.path;
        match self.place {
            Place::AfterDot => path.truncate(path.len() - 1),
            Place::AfterTwoDots => {
                let before = path.len().checked_sub(4)?;
                let slash = path[..=before].iter().rposition(|byte| *byte == b'/')?;
                path.truncate(slash + 1);
            }
            Place::Within | Place::AfterSlash => {}
        }
        Some(())
    }
}
