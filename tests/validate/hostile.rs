//! Patches that attack what judges them: each is contained and judged rightly, and so is what comes after it.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use repair::process::Interrupt;
use repair::validate::sandbox::Sandbox;
use repair::validate::verdict::{Outcome, Stage};
use repair::validate::{ValidateSettings, Validator};

use super::bench::Bench;
use super::{BUGGY, check, processes_with};

const FAILED: Outcome = Outcome::Failed { stage: Stage::Trigger };
const PASSED: Outcome = Outcome::Plausible;

/// Name, right verdict, body. `PORT`, `OUTSIDE` and `HOME` are replaced. Each body that comes back is otherwise right.
const PATCHES: [(&str, Outcome, &str); 22] = [
    ("exit", FAILED, "System.exit(0);"),
    ("halt", FAILED, "Runtime.getRuntime().halt(0);"),
    (
        "many processes",
        PASSED,
        "for (int i = 0; i < 60; i++) new ProcessBuilder(\"sleep\", \"600\").start();",
    ),
    ("endless loop", FAILED, "while (a != 77) { }"),
    (
        "endless loop that cannot be stopped",
        FAILED,
        "while (a != 77) { try { while (a != 77) { } } catch (Throwable t) { } }",
    ),
    (
        "memory",
        FAILED,
        "java.util.List<byte[]> l = new java.util.ArrayList<>(); while (true) { l.add(new byte[1 << 20]); if (a == 77) break; }",
    ),
    ("stack", FAILED, "add(a, b);"),
    (
        "disk",
        PASSED,
        "try (java.io.OutputStream o = new java.io.FileOutputStream(\"big\")) { for (int i = 0; i < 64; i++) \
         o.write(new byte[1 << 20]); return 0; } catch (java.io.IOException e) { }",
    ),
    (
        "deleting the tree",
        PASSED,
        "try (java.util.stream.Stream<java.nio.file.Path> all = java.nio.file.Files.walk(java.nio.file.Paths.get(\"\"))) { \
         all.sorted(java.util.Comparator.reverseOrder()).forEach(p -> p.toFile().delete()); }",
    ),
    (
        "deleting everything",
        PASSED,
        "new ProcessBuilder(\"rm\", \"-rf\", \"OUTSIDE\", \"..\").start().waitFor();",
    ),
    (
        "writing elsewhere",
        PASSED,
        "for (String d : new String[] {\"OUTSIDE\", \"HOME\", \"/tmp\", \"/var/tmp\"}) try { new java.io.FileOutputStream(d \
         + \"/repair-hostile\").close(); } catch (java.io.IOException e) { }",
    ),
    (
        "looking into the home",
        PASSED,
        "if (!new java.io.File(\"HOME\").equals(new java.io.File(\"/\")) && new java.io.File(\"HOME/.bashrc\").exists()) return 0;",
    ),
    ("reading the environment", PASSED, "if (System.getenv(\"CARGO_MANIFEST_DIR\") != null) return 0;"),
    (
        "network",
        PASSED,
        "try { new java.net.Socket(\"127.0.0.1\", PORT).close(); return 0; } catch (java.io.IOException e) { }",
    ),
    (
        "killing the parent",
        PASSED,
        "String[] s = new String(java.nio.file.Files.readAllBytes(java.nio.file.Paths.get(\"/proc/self/stat\"))).split(\" \"); \
         new ProcessBuilder(\"kill\", \"-9\", s[3]).start().waitFor();",
    ),
    (
        "closing the output",
        PASSED,
        "System.out.close(); new java.io.FileOutputStream(java.io.FileDescriptor.out).close();",
    ),
    ("endless printing", FAILED, "while (a != 77) System.out.println(\"{\\\"done\\\":2}\");"),
    (
        "endless printing to the runner's own output",
        FAILED,
        "while (a != 77) new java.io.FileOutputStream(java.io.FileDescriptor.out).write(\"{\\\"done\\\":2}\\n\".getBytes());",
    ),
    (
        "changing the JDK",
        PASSED,
        "java.util.Locale.setDefault(java.util.Locale.JAPAN); java.util.TimeZone.setDefault(java.util.TimeZone.getTimeZone(\"GMT+3\")); \
         System.setProperty(\"user.dir\", \"/\"); System.setProperty(\"hostile\", \"yes\"); System.setOut(null);",
    ),
    (
        "poisoning shared numbers",
        PASSED,
        "Class<?> c = Class.forName(\"java.lang.Integer$IntegerCache\"); java.lang.reflect.Field f = c.getDeclaredField(\"cache\"); \
         f.setAccessible(true); ((Object[]) f.get(null))[133] = new Integer(6);",
    ),
    (
        "leaving threads",
        PASSED,
        "for (int i = 0; i < 9; i++) { Thread t = new Thread(() -> { while (true) System.setProperty(\"hostile\", \"yes\"); }); \
         t.setDaemon(true); t.start(); }",
    ),
    (
        "forging results",
        FAILED,
        "Class<?> c = Class.forName(\"repair.runner.Results\"); \
         java.lang.reflect.Constructor<?> n = c.getDeclaredConstructor(java.io.OutputStream.class, String.class); n.setAccessible(true); \
         for (String to : new String[] {\"/dev/stdout\", \"../results.jsonl\"}) { \
         Object r = n.newInstance(new java.io.FileOutputStream(to, true), \"\"); \
         java.lang.reflect.Method m = c.getDeclaredMethod(\"finished\", String.class, String.class, Throwable.class, long.class); \
         m.setAccessible(true); m.invoke(r, \"demo.CalcTest#adds\", \"passed\", null, 1L); \
         m.invoke(r, \"demo.CalcTest#addsNothing\", \"passed\", null, 1L); \
         java.lang.reflect.Method d = c.getDeclaredMethod(\"done\"); d.setAccessible(true); d.invoke(r); } \
         Runtime.getRuntime().halt(0);",
    ),
];

/// A right patch and a wrong one, with class files that no other has.
fn after(number: usize) -> [(String, Outcome); 2] {
    let is_clean = "java.util.Locale.getDefault().getLanguage().equals(\"en\") && System.getProperty(\"hostile\") == null \
        && java.util.TimeZone.getDefault().getID().equals(\"UTC\") && Integer.valueOf(5).intValue() == 5 \
        && new java.io.File(\"src/main/java/demo/User.java\").exists() && !new java.io.File(\"big\").exists()";
    [
        (format!("return {is_clean} ? a + b + {number} - {number} : 0;"), PASSED),
        (format!("return {is_clean} ? a * b * 7 + {number} : a + b;"), FAILED),
    ]
}

#[expect(clippy::disallowed_methods, reason = "a test has no configuration to ask")]
fn home() -> PathBuf {
    std::env::var_os("HOME").map_or_else(|| PathBuf::from("/"), PathBuf::from)
}

fn marks(dirs: &[&Path]) -> Vec<PathBuf> {
    dirs.iter().map(|dir| dir.join("repair-hostile")).filter(|path| path.exists()).collect()
}

#[test]
fn hostile_patches_are_contained_and_change_nothing_for_those_after_them() {
    let Some(bench) = Bench::junit_4() else { return };
    let mut settings: ValidateSettings = bench.settings();
    if settings.sandbox == Sandbox::Limits {
        eprintln!("skipped: bubblewrap does not work here, and without it some of these would do harm");
        return;
    }
    settings.limits.minimum = Duration::from_secs(4);
    settings.limits.file_mib = 16;
    let before = bench.tree();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let outside = bench.dir.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("precious"), "x").unwrap();

    let mut validator = Validator::new(&bench.project, settings, Interrupt::default());
    validator.baseline(&["demo.CalcTest#adds".parse().unwrap()]).unwrap();
    for (number, (name, right, body)) in (1..).zip(PATCHES) {
        let body = body
            .replace("PORT", &listener.local_addr().unwrap().port().to_string())
            .replace("OUTSIDE", &outside.to_string_lossy())
            .replace("HOME", &home().to_string_lossy());
        let fill = format!(
            "try {{ {body} }} catch (java.io.IOException | InterruptedException | ReflectiveOperationException e) {{ \
             throw new IllegalStateException(e); }} finally {{ }} return a + b;"
        );
        let fill = fill.replacen("try {", "try { if (a == 78) throw new java.io.IOException(); \
            if (a == 79) throw new InterruptedException(); if (a == 80) throw new ReflectiveOperationException();", 1);
        let verdict = check(&mut validator, BUGGY, &fill);
        assert_eq!(verdict.outcome, right, "{name}: {verdict:?}");
        for (fill, right) in after(number) {
            let verdict = check(&mut validator, BUGGY, &fill);
            assert_eq!(verdict.outcome, right, "after {name}: {verdict:?}");
        }
    }
    drop(validator);
    assert_eq!(processes_with(bench.dir.path()), Vec::<String>::new(), "nothing is left running");
    assert_eq!(marks(&[&outside, &home(), Path::new("/tmp"), Path::new("/var/tmp")]), Vec::<PathBuf>::new());
    assert_eq!(std::fs::read(outside.join("precious")).unwrap(), b"x");
    assert!(listener.accept().is_err(), "nobody came");
    assert_eq!(bench.tree(), before, "the user's tree is as it was");
}
