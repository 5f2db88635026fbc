//! A word that patched code cannot guess; results begin with it.

use std::fmt::Write as _;
use std::io::Read;
use std::path::Path;

use super::error::ValidateError;

const SOURCE: &str = "/dev/urandom";

/// 32 hexadecimal digits from the system. No verdict depends on their values.
pub(super) fn nonce() -> Result<String, ValidateError> {
    let mut bytes = [0; 16];
    let io = ValidateError::io("read", Path::new(SOURCE));
    std::fs::File::open(SOURCE).and_then(|mut file| file.read_exact(&mut bytes)).map_err(io)?;
    Ok(bytes.iter().fold(String::new(), |mut word, byte| {
        write!(word, "{byte:02x}").expect("writing to a string does not fail");
        word
    }))
}
