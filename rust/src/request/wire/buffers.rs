//! The buffers into which nginx reads a request (`ngx_http_alloc_large_header_buffer`). Each line must fit into one.

use super::refusal::Refusal;
use super::{Reader, Settings};

/// A request of up to this many bytes always fits, unless the first buffer is set to less than its default.
const SMALL: usize = 1024;

/// The room that is left in the buffers.
pub(super) struct Buffers {
    /// The bytes read so far, and the room in the current buffer.
    used: usize,
    left: usize,
    /// How many large buffers are in use.
    large: usize,
}

impl Reader<'_> {
    /// The length of the request line, including its end.
    fn request_line_length(&self) -> usize {
        let request = self.request;
        let version = if request.version < (1, 0) { "" } else { " HTTP/1.1" };
        request.method.len() + 1 + request.target.len() + version.len() + "\r\n".len()
    }

    pub(super) fn check_request_line_length(&mut self) -> Result<(), Refusal> {
        let length = self.request_line_length();
        if length <= SMALL {
            return Ok(());
        }
        let settings = self.settings();
        let is_short =
            length <= settings.header_buffer || (settings.large_buffers.0 > 0 && length <= settings.large_buffers.1);
        if is_short { Ok(()) } else { Err(Refusal::Status(414)) }
    }

    /// The buffers after the request line has been read.
    pub(super) fn buffers(&mut self) -> Buffers {
        let length = self.request_line_length();
        if length <= SMALL {
            return Buffers { used: length, left: SMALL - length, large: 0 };
        }
        let settings = self.settings();
        match settings.header_buffer.checked_sub(length) {
            Some(left) => Buffers { used: length, left, large: 0 },
            None => Buffers { used: length, left: settings.large_buffers.1 - length, large: 1 },
        }
    }
}

impl Buffers {
    /// Adds a line of this length. nginx answers 494 if there is no room.
    pub fn take(&mut self, length: usize, reader: &mut Reader) -> Result<(), Refusal> {
        let before = self.used;
        self.used += length;
        if self.used <= SMALL {
            self.left = self.left.saturating_sub(length);
            return Ok(());
        }
        let Settings { header_buffer, large_buffers: (count, size), .. } = reader.settings();
        if before <= SMALL && self.large == 0 {
            self.left = header_buffer.saturating_sub(before);
        }
        if length <= self.left {
            self.left -= length;
            return Ok(());
        }
        if self.left >= size || self.large >= count || length > size {
            return Err(Refusal::Status(494));
        }
        self.large += 1;
        self.left = size - length;
        Ok(())
    }
}
