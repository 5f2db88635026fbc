//! A JVM of the runner that stays up: requests go to its standard input, lines come back from its standard output.
//!
//! What it says may come from patched code, so nothing it says is trusted here beyond its form: lines are bounded, and
//! so is what is waiting to be read.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use super::error::ValidateError;
use crate::process::{Conversation, Interrupt, Spec};

/// Longest line that is read; a test's message has 2,000 units at most.
const LINE_BYTES: u64 = 1 << 20;
/// Lines that may wait; more make the writer wait.
const WAITING: usize = 256;
/// Interval at which a wait looks at the interrupt flag.
const TICK: Duration = Duration::from_millis(100);

/// The next thing that is heard.
#[derive(Debug)]
pub(super) enum Heard {
    /// A line without its end.
    Line(Vec<u8>),
    /// Nothing before the deadline.
    Nothing,
    /// The JVM has ended or closed its output.
    Gone,
}

/// A running JVM. Dropping it kills it.
#[derive(Debug)]
pub(super) struct WarmJvm {
    _conversation: Conversation,
    requests: ChildStdin,
    lines: Receiver<Vec<u8>>,
}

impl WarmJvm {
    /// Starts it; the deadline of `spec` is not used.
    pub(super) fn start(spec: &Spec) -> Result<Self, ValidateError> {
        let (conversation, requests, answers) = Conversation::start(spec)?;
        let (sender, lines) = sync_channel(WAITING);
        std::thread::spawn(move || read_lines(answers, &sender));
        Ok(Self { _conversation: conversation, requests, lines })
    }

    /// Sends one request. Whether it arrived shows when nothing comes back.
    pub(super) fn ask(&mut self, words: &[OsString]) {
        let mut request = (words.len() as u32).to_be_bytes().to_vec();
        for word in words {
            request.extend((word.len() as u32).to_be_bytes());
            request.extend(word.as_bytes());
        }
        // A JVM that is gone is heard of as gone.
        let _heard_later = self.requests.write_all(&request).and_then(|()| self.requests.flush());
    }

    /// The next line.
    pub(super) fn hear(&self, until: Instant, interrupt: &Interrupt) -> Result<Heard, ValidateError> {
        loop {
            if interrupt.is_set() {
                return Err(ValidateError::Interrupted);
            }
            let left = until.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left.min(TICK)) {
                Ok(line) => return Ok(Heard::Line(line)),
                Err(RecvTimeoutError::Disconnected) => return Ok(Heard::Gone),
                Err(RecvTimeoutError::Timeout) if left.is_zero() => return Ok(Heard::Nothing),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

/// Reads until the stream ends, nobody listens any more, or a line is too long.
fn read_lines(stream: ChildStdout, sender: &SyncSender<Vec<u8>>) {
    let mut stream = BufReader::new(stream);
    loop {
        let mut line = Vec::new();
        let read = stream.by_ref().take(LINE_BYTES).read_until(b'\n', &mut line);
        if read.is_err() || line.pop() != Some(b'\n') || sender.send(line).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> WarmJvm {
        let spec = Spec::new("/bin/sh", "/", Duration::from_secs(9)).args(["-c", script]).inherit(&["PATH"]);
        WarmJvm::start(&spec).unwrap()
    }

    fn hear(jvm: &WarmJvm, millis: u64) -> Heard {
        jvm.hear(Instant::now() + Duration::from_millis(millis), &Interrupt::default()).unwrap()
    }

    #[test]
    fn a_request_is_counted_and_its_answer_heard() {
        let mut echo = shell("head -c 15 | od -An -tu1 | tr -s ' '");
        echo.ask(&["ab".into(), "c".into()]);
        let Heard::Line(line) = hear(&echo, 9000) else { panic!("nothing heard") };
        assert_eq!(String::from_utf8(line).unwrap().trim(), "0 0 0 2 0 0 0 2 97 98 0 0 0 1 99");
        assert!(matches!(hear(&echo, 9000), Heard::Gone));
    }

    #[test]
    fn silence_is_not_the_end() {
        assert!(matches!(hear(&shell("sleep 9"), 1), Heard::Nothing));
        assert!(matches!(hear(&shell("exit 3"), 9000), Heard::Gone));
    }

    #[test]
    fn a_line_without_an_end_is_not_kept_in_memory() {
        assert!(matches!(hear(&shell("exec cat /dev/zero"), 9000), Heard::Gone));
    }
}
