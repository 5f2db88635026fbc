//! The law of the oracle on real code: the original text of a hole is never refused, a name that does not exist is.
//!
//! Holes of the demo project, of every kind that a repair has; their own text goes through lexer, lists and compiler in
//! pieces of three bytes, as tokens would come, and again with a name that does not exist.

#[path = "engine/parts.rs"]
mod parts;

use std::path::{Path, PathBuf};
use std::time::Duration;

use repair::decode::replay::{Caught, Figures, ReplaySettings, Spelling, Swapped, replay};
use repair::engine::{JdtEngine, ServerSettings};
use repair::java::project::{BuildTool, Project};

const PIECE: usize = 3;
const HOLES: usize = 160;

fn demo() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/demo/base").canonicalize().unwrap()
}

fn start(state: &Path) -> Option<(JdtEngine, Project)> {
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
    Some((JdtEngine::start(settings, &project).unwrap(), project))
}

/// Wrong fills that were refused at one of these moments, and all wrong fills that do not compile.
fn caught(figures: &Figures, how: Swapped, when: &[Caught]) -> (u64, u64) {
    let of_kind = figures.caught.iter().filter(|((swapped, _), _)| *swapped == how);
    of_kind.fold((0, 0), |(n, all), ((_, at), count)| {
        (n + if when.contains(at) { *count } else { 0 }, all + count)
    })
}

#[test]
fn the_text_that_was_there_is_never_refused_and_a_wrong_name_is() {
    let state = tempfile::tempdir().unwrap();
    let Some((mut engine, project)) = start(state.path()) else { return };
    let pieces = |text: &str| Some(text.as_bytes().chunks(PIECE).map(<[u8]>::to_vec).collect());
    let other_pieces = |text: &str| Some(text.as_bytes().chunks(PIECE + 1).map(<[u8]>::to_vec).collect());
    let spellings = [
        Spelling { spell: &pieces, structural_end: true },
        Spelling { spell: &other_pieces, structural_end: false },
    ];
    let settings = ReplaySettings { holes: HOLES, seed: 0, counter: true };
    let figures = replay(&mut engine, &project, &spellings, settings, &mut |_| false).unwrap();
    engine.shut_down();

    assert_eq!(figures.n_holes(), HOLES as u64);
    assert_eq!(figures.false_prunes, []);
    assert_eq!(figures.missed, Vec::<String>::new());
    let at_once = caught(&figures, Swapped::Nonexistent, &[Caught::AtOnce]);
    let checked = caught(&figures, Swapped::OtherMember, &[Caught::Later, Caught::Statement, Caught::End]);
    let unknown = figures.unknown_share();
    let (cold, warm) = (figures.cold.per_token().unwrap(), figures.warm.per_token().unwrap());
    eprintln!("at once {at_once:?}, checked {checked:?}, unknown {unknown:.3}");
    eprintln!("lists and checks per token {cold:?}, {warm:?} in holes that were filled before");
    assert!(at_once.0 * 100 >= at_once.1 * 90, "{at_once:?} wrong names refused at once");
    assert_eq!(checked.0, checked.1, "of the members that do not compile");
    assert!(unknown < 0.1, "{unknown} of the identifiers are not known");
    assert!(warm.0 < cold.0 / 10.0, "{} questions for lists per token", warm.0);
}
