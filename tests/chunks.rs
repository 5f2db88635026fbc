//! What holds of the chunks of any bytes in any language: they tile the file, and none is over the budget.

use repair::retrieval::{Cut, cut};

const PATHS: [&str; 6] = ["A.java", "a.py", "A.cs", "a.ts", "a.tsx", "notes"];
/// Random inputs; each goes to every language in turn.
const N_RANDOM: u64 = 10_000;

fn check(path: &str, source: &[u8], max: usize) -> Cut {
    let cut = cut(path, source, max);
    let mut end = 0;
    for piece in &cut.pieces {
        let text = &source[piece.bytes.clone()];
        assert_eq!(piece.bytes.start, end, "{path}: pieces are adjacent");
        assert!(!text.is_empty() && piece.size <= max, "{path}: {piece:?} at {max}");
        if std::str::from_utf8(source).is_ok() {
            assert!(std::str::from_utf8(text).is_ok(), "{path}: {piece:?} ends within a character");
        }
        let newlines = |bytes: &[u8]| bytes.split(|&byte| byte == b'\n').count() - 1;
        let first = 1 + newlines(&source[..piece.bytes.start]);
        let last = first + newlines(&text[..text.len() - 1]);
        assert_eq!(piece.lines, (first, last), "{path}: {piece:?}");
        end = piece.bytes.end;
    }
    assert_eq!(end, source.len(), "{path}: the pieces are the file");
    cut
}

/// Xorshift: the same inputs on every run.
fn random(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    }
}

#[test]
fn random_bytes_are_tiled_in_every_language() {
    for seed in 0..N_RANDOM {
        let mut random = random(seed + 1);
        let source: Vec<u8> = (0..random(200)).map(|_| random(256) as u8).collect();
        check(PATHS[seed as usize % PATHS.len()], &source, 1 + random(60));
    }
}

#[test]
fn broken_files_are_tiled_in_every_language() {
    let files = [
        (
            "A.java",
            "package a;\n\n/** Doc é. */\nclass A<T> {\n\t@O int[] x = {1, 2};\r\n\r\n\tvoid f() { if (x) g(\"s\\n\", 'c'); }\n}\n",
        ),
        (
            "a.py",
            "import os\n\n@d\nclass A:\n    '''Doc é.'''\n    def f(self, *a):\n        return [x for x in a if x]\n\n\nasync def g():\n\tpass\n",
        ),
        (
            "A.cs",
            "using System;\nnamespace N;\n/// <summary>é</summary>\npublic record R(int A) { public int P => A switch { 1 => 2, _ => 3 }; }\n#if X\nclass C {}\n#endif\n",
        ),
        (
            "a.ts",
            "import x from 'y';\n// é\nexport abstract class A<T> { f?: (a: T) => void; }\nenum E { A = `t${1}` as any }\n",
        ),
        (
            "a.tsx",
            "const App = () => {\n  return (\n    <ul className=\"é\">\n      {items.map(i => <li key={i}>{i}</li>)}\n    </ul>\n  );\n};\n",
        ),
    ];
    let mut broken = 0;
    for seed in 0..1000 {
        let mut random = random(seed + 1);
        let (path, text) = files[seed as usize % files.len()];
        // One stretch is cut out, doubled, or taken over by another.
        let mut source = text.as_bytes().to_vec();
        let (from, to) = (random(source.len()), random(source.len()));
        let stretch = from.min(to)..from.max(to);
        let taken = source[stretch.clone()].to_vec();
        match random(3) {
            0 => drop(source.drain(stretch)),
            1 => drop(source.splice(stretch.end..stretch.end, taken)),
            _ => {
                let at = random(source.len());
                drop(source.splice(at..at, taken));
            }
        }
        broken += usize::from(check(path, &source, 1 + random(80)).has_errors);
    }
    assert!(broken > 300, "the inputs are meant to be broken, {broken} were");
    for (path, text) in files {
        assert!(!check(path, text.as_bytes(), 40).has_errors, "{path}");
    }
}

#[test]
fn nothing_is_torn_but_what_is_too_large_by_itself() {
    let literal = format!("class A {{\n  String s = \"{}\";\n  int a;\n}}\n", "x".repeat(100));
    let torn =
        |source: &str, max| check("A.java", source.as_bytes(), max).pieces.iter().filter(|p| p.torn).count();
    assert_eq!(torn(&literal, 200), 0);
    assert!(torn(&literal, 50) >= 2);
    assert_eq!(torn("class A {\n  int a;\n  int b;\n  int c;\n}\n", 8), 0);
}
