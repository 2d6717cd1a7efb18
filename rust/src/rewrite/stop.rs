//! The statement that ends the script of a server where a lookup found no rule.

/// From so many numbers on, it costs a request less to end the script than to compare them all with nothing: a hit pays
/// one comparison more, and a miss saves all but one.
const FEWEST_COMPARED: usize = 3;

/// Writes a statement that ends the script if `result` is empty, before the statements that compare it with numbers.
/// They must be the last of the script of a server.
pub fn write_stop(result: &str, numbers: usize, text: &mut Vec<u8>) {
    if numbers >= FEWEST_COMPARED {
        text.extend_from_slice(format!("if (${result} = \"\") {{\n    break;\n}}\n").as_bytes());
    }
}
