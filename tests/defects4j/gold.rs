//! The human patch through lexer, lists and compiler, token by token, as the default model would write it.

use std::path::Path;
use std::time::Duration;

use repair::cloze::Cloze;
use repair::config::Parts;
use repair::decode::oracle::{Guidance, Oracle};
use repair::decode::partial::{Advance, Frame};
use repair::engine::{self, JdtEngine, ServerSettings};
use repair::java::lexer::{LexState, Mark};
use repair::java::project::Project;
use repair::model::{self, LoadOptions};

/// What became of it: `accepted`, or what was refused where.
pub fn replay(
    project: &Project,
    path: &Path,
    cloze: &Cloze,
    fill: &str,
    parts: &Parts,
    scratch: &Path,
) -> String {
    let settings = ServerSettings {
        java: engine::choose_java(&parts.server_javas).unwrap(),
        jdtls_home: parts.jdtls_home.clone(),
        bundle: parts.bundle.clone(),
        state_dir: scratch.join("server"),
        start_deadline: Duration::from_secs(300),
        request_deadline: Duration::from_secs(60),
        heap_mb: 1500,
    };
    let mut engine = match JdtEngine::start(settings, project) {
        Ok(engine) => engine,
        Err(error) => return format!("ERROR {error}"),
    };
    if let Err(error) = engine.open(path, &cloze.prefix, &cloze.original, &cloze.suffix) {
        return format!("ERROR {error}");
    }
    let result = judge(&mut engine, cloze, fill, &parts.model);
    let counters = engine.counters();
    engine.shut_down();
    match result {
        Ok(n_tokens) => {
            let unknown: u64 = counters.unknowns.values().sum();
            format!("accepted, {n_tokens} tokens, {unknown} unknown answers")
        }
        Err(refused) => refused,
    }
}

/// The text without its comments: they change no behaviour, and the search writes none.
fn without_comments(fill: &str) -> String {
    let mut state = LexState::default();
    let mut text = String::new();
    for line in fill.split_inclusive('\n') {
        let mut code = String::new();
        for c in line.chars() {
            let was_comment = state.in_comment();
            let mut bytes = [0; 4];
            let marks: Vec<Mark> =
                c.encode_utf8(&mut bytes).bytes().map(|byte| state.step(0, byte).mark).collect();
            if marks.contains(&Mark::CommentStart) {
                code.pop();
            } else if c == '\n' || !was_comment && !state.in_comment() {
                code.push(c);
            }
        }
        if !code.trim().is_empty() || line.trim().is_empty() {
            text.push_str(&code);
        }
    }
    text.trim_end().to_owned()
}

fn judge(engine: &mut JdtEngine, cloze: &Cloze, fill: &str, model: &Path) -> Result<usize, String> {
    let model = model::load(model, LoadOptions::default()).unwrap();
    let frame = Frame::new(cloze, true);
    let mut oracle = Oracle::new(engine, Guidance::FULL, cloze);
    let next = frame.next_code_line().ok_or("no line follows the hole")?;
    let mut partial = frame.empty();
    let fill = &without_comments(fill);
    let ids = model.encode(&format!("{fill}\n{next}\n")).unwrap();
    for (n_tokens, id) in ids.into_iter().enumerate() {
        let token = model.vocabulary().bytes(id).unwrap_or_default().to_vec();
        let at = || String::from_utf8_lossy(partial.text()).into_owned();
        match partial.advance(&frame, &token) {
            Advance::Refused(refusal) => return Err(format!("REFUSED {refusal:?} after {:?}", at())),
            Advance::Ended { fill, closed } => {
                let end = oracle.judge_end(&fill, &closed);
                return end
                    .map(|()| n_tokens)
                    .map_err(|refusal| format!("REFUSED the end: {refusal:?} {fill:?}"));
            }
            Advance::Open { partial: next, closed, statement } => {
                oracle
                    .judge(&next, &closed, statement)
                    .map_err(|refusal| format!("REFUSED {refusal:?} by {token:?} after {:?}", at()))?;
                partial = next;
            }
        }
    }
    Err(format!("the hole has no end: {fill:?}"))
}
