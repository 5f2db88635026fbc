//! Wrong fills before `javac`, which knows nothing of the language server.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use repair::build::javac::{Compilation, Platform, argument_file, join_paths};
use repair::build::jdk::lowest_level;
use repair::decode::replay::{Caught, Swapped, WrongFill};
use repair::java::project::Project;
use repair::process::{Interrupt, Spec, run};
use repair::text::Source;

/// For all sources of a project, and then for some hundred of its files one by one.
const DEADLINE: Duration = Duration::from_secs(1800);

const HEAP_MIB: u32 = 1000;

/// What javac and the oracle said: how the fill was made wrong, javac's word, when the oracle refused it.
pub type Judged = BTreeMap<(Swapped, &'static str, Caught), u64>;

/// Has every fill compiled. A file that does not compile with its own text is left out.
pub fn judge(project: &Project, wrong: &[WrongFill], scratch: &Path) -> anyhow::Result<Judged> {
    let classes = scratch.join("classes");
    std::fs::create_dir(&classes)?;
    compile_all(project, &classes, scratch)?;
    let class_path = join_paths(&[&project.class_path[..], std::slice::from_ref(&classes)].concat());
    let release = project.level.max(lowest_level(project.jdk.feature)).to_string();
    let mut options: Vec<OsString> =
        ["-proc:none", "-nowarn", "-sourcepath", "", "-encoding", "UTF-8"].map(OsString::from).to_vec();
    options.extend(["--release".into(), release.into(), "-d".into(), scratch.join("thrown-away").into()]);
    options.extend(["-classpath".into(), class_path]);
    std::fs::create_dir(scratch.join("thrown-away"))?;
    let mut paths = Vec::new();
    for (number, fill) in wrong.iter().enumerate() {
        let source = Source::new(std::fs::read(&fill.file)?, &project.encoding)?;
        let text = source.text(0..source.bytes().len());
        let mut filled = text.clone();
        filled.replace_range(fill.range.clone(), &fill.fill);
        for (name, text) in [("own", text), ("filled", filled)] {
            let dir = scratch.join(format!("{name}-{number}"));
            std::fs::create_dir(&dir)?;
            let path = dir.join(fill.file.file_name().context("a file has a name")?);
            std::fs::write(&path, text)?;
            paths.push(path);
        }
    }
    let compiles = compile_each(project, &paths, &options, scratch)?;
    let mut judged = Judged::new();
    for (fill, compiles) in wrong.iter().zip(compiles.chunks(2)) {
        let word = match compiles {
            [true, true] => "compiles",
            [true, false] => "does not compile",
            _ => "the file itself does not compile",
        };
        *judged.entry((fill.how, word, fill.caught)).or_default() += 1;
    }
    Ok(judged)
}

/// The project's class files.
fn compile_all(project: &Project, classes: &Path, scratch: &Path) -> anyhow::Result<()> {
    let files = project.sources.iter().flat_map(walkdir::WalkDir::new);
    let files = files.filter_map(Result::ok).map(walkdir::DirEntry::into_path);
    let sources: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|extension| extension == "java")).collect();
    let arguments = scratch.join("arguments");
    std::fs::write(&arguments, argument_file(&sources))?;
    let compilation = Compilation {
        jdk: &project.jdk,
        level: project.level,
        encoding: &project.encoding,
        platform: Platform::OfLevel,
        class_path: &project.class_path,
        out: classes,
        heap_mib: HEAP_MIB,
    };
    let ran = run(&compilation.spec(&arguments, scratch, DEADLINE), &Interrupt::default())?;
    ensure!(ran.success(), "javac: {}", String::from_utf8_lossy(&ran.stderr));
    Ok(())
}

/// Whether each of the sources compiles by itself.
fn compile_each(
    project: &Project,
    paths: &[PathBuf],
    options: &[OsString],
    scratch: &Path,
) -> anyhow::Result<Vec<bool>> {
    let (program, list) = (scratch.join("Judge.java"), scratch.join("list"));
    std::fs::write(&program, include_str!("Judge.java"))?;
    let lines: Vec<_> = paths.iter().map(|path| path.to_string_lossy()).collect();
    std::fs::write(&list, lines.join("\n"))?;
    let java = project.jdk.home.join("bin/java");
    let spec = Spec::new(java, scratch, DEADLINE).args([program.as_os_str(), list.as_os_str()]).args(options);
    let ran = run(&spec, &Interrupt::default())?;
    let (stdout, stderr) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    let answers: Vec<bool> = stdout.lines().filter_map(|line| line.trim().parse().ok()).collect();
    ensure!(answers.len() == paths.len(), "javac judged {} of {}: {stderr}", answers.len(), paths.len());
    Ok(answers)
}
