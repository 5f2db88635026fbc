//! The law of the oracle on real code: the original text of a hole is never refused, a name that does not exist is.
//!
//! Every third line of code of the demo project becomes a hole; its own text goes through lexer, lists and compiler in
//! pieces of three bytes, as tokens would come.

#[path = "engine/parts.rs"]
mod parts;

use std::path::{Path, PathBuf};
use std::time::Duration;

use repair::bug::Lines;
use repair::cloze::Cloze;
use repair::decode::oracle::{Guidance, Oracle};
use repair::decode::partial::{Advance, Frame, Refusal};
use repair::engine::{HolePlace, JdtEngine, ServerSettings};
use repair::java::project::{BuildTool, Project};
use repair::text::Source;

const STEP: usize = 3;
const PIECE: usize = 3;

fn demo() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/demo/base").canonicalize().unwrap()
}

fn sources() -> Vec<PathBuf> {
    let files = walkdir::WalkDir::new(demo().join("src/main/java")).sort_by_file_name();
    let files = files.into_iter().map(|entry| entry.unwrap().into_path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "java")).collect()
}

fn start(state: &Path) -> Option<JdtEngine> {
    let parts = parts::parts()?;
    let project = Project {
        root: demo(),
        build_tool: BuildTool::Plain,
        sources: vec![demo().join("src/main/java")],
        tests: Vec::new(),
        resources: Vec::new(),
        class_path: Vec::new(),
        level: 8,
        encoding: "UTF-8".to_owned(),
        excluded: Vec::new(),
        jdk: parts.jdk,
    };
    let settings = ServerSettings {
        java: parts.java,
        jdtls_home: parts.jdtls,
        bundle: parts.bundle,
        state_dir: state.to_owned(),
        start_deadline: Duration::from_secs(180),
        request_deadline: Duration::from_secs(30),
        heap_mb: 1000,
    };
    Some(JdtEngine::start(settings, &project).unwrap())
}

/// Feeds `text` and then the line that ends the hole; the refusal, if there is one, with the text before it.
fn replay(cloze: &Cloze, engine: &mut JdtEngine, text: &str) -> Result<String, (Refusal, String)> {
    let frame = Frame::new(cloze, true);
    let around = format!("{}\n{}", cloze.original, cloze.suffix);
    let mut oracle = Oracle::new(engine, Guidance::FULL, &around);
    let whole = format!("{text}\n{}\n", frame.next_code_line().expect("something follows"));
    let mut partial = frame.empty();
    for piece in whole.as_bytes().chunks(PIECE) {
        let at = || String::from_utf8_lossy(partial.text()).into_owned();
        match partial.advance(&frame, piece) {
            Advance::Refused(refusal) => return Err((refusal, at())),
            Advance::Ended { fill, closed } => {
                oracle.judge_end(&fill, &closed).map_err(|refusal| (refusal, at()))?;
                return Ok(fill);
            }
            Advance::Open { partial: next, closed, statement } => {
                oracle.judge(&next, &closed, statement).map_err(|refusal| (refusal, at()))?;
                partial = next;
            }
        }
    }
    panic!("the hole of {text:?} has no end")
}

/// Lines of code that make a hole: no comments, and something other than a bracket on them.
fn holes(text: &str) -> Vec<usize> {
    let is_code = |line: &str| {
        let line = line.trim();
        line.contains(|c: char| c.is_alphanumeric()) && !line.starts_with(['/', '*']) && !line.contains("//")
    };
    (1..)
        .zip(text.lines())
        .filter(|(_, line)| is_code(line))
        .map(|(number, _)| number)
        .skip(1)
        .step_by(STEP)
        .collect()
}

/// `line` with its last name that is no keyword replaced by one that does not exist.
fn with_a_wrong_name(line: &str) -> Option<String> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let end = line.rfind(is_word)? + 1;
    let start = line[..end].rfind(|c| !is_word(c))? + 1;
    let word = &line[start..end];
    let is_name =
        word.starts_with(char::is_alphabetic) && !repair::java::keyword::is_keyword(word.as_bytes());
    (is_name && !line.contains('"')).then(|| format!("{}zzq{}{}", &line[..start], word, &line[end..]))
}

#[test]
fn the_text_that_was_there_is_never_refused_and_a_wrong_name_is() {
    let state = tempfile::tempdir().unwrap();
    let Some(mut engine) = start(state.path()) else { return };
    let (mut n_right, mut n_wrong, mut n_caught) = (0, 0, 0);
    for file in sources() {
        let text = std::fs::read_to_string(&file).unwrap();
        for line in holes(&text) {
            let source = Source::new(text.clone().into(), "UTF-8").unwrap();
            let cloze = Cloze::new(source, Lines::Replace { first: line, last: line }).unwrap();
            engine.open(&file, &cloze.prefix, &cloze.original, &cloze.suffix).unwrap();
            let name = file.file_name().unwrap().to_string_lossy();
            match replay(&cloze, &mut engine, &cloze.original) {
                Ok(fill) => assert_eq!(fill, cloze.original.trim_end(), "{name}:{line}"),
                Err((refusal, at)) => {
                    panic!("{name}:{line}: {refusal:?} after {at:?} of {:?}", cloze.original)
                }
            }
            n_right += 1;
            let is_body = repair::engine::CompletionEngine::place(&engine) == HolePlace::Body;
            if let Some(wrong) = with_a_wrong_name(&cloze.original).filter(|_| is_body) {
                n_wrong += 1;
                n_caught += usize::from(replay(&cloze, &mut engine, &wrong).is_err());
            }
        }
    }
    eprintln!("{n_right} holes replayed, {n_caught} of {n_wrong} wrong names refused");
    assert!(n_right > 100, "only {n_right} holes");
    // A declared name is a free choice; those lines are right with any name.
    assert!(n_caught * 100 >= n_wrong * 85, "{n_caught} of {n_wrong} wrong names refused");
    engine.shut_down();
}
