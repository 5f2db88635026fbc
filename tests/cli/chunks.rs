//! `repair chunk`: files and directories in, chunks out.

use crate::support::command;

const JAVA: &str = "class A {\n    int first() {\n        return 1;\n    }\n\n    int second() {\n        return 2;\n    }\n}\n";
const PYTHON: &str = "class B:\n    def f(self):\n        return 1\n";

/// Exit code, stdout and stderr of `repair chunk` in a directory with these files.
fn chunk(files: &[(&str, &[u8])], words: &[&str]) -> String {
    let dir = tempfile::tempdir().unwrap();
    for (path, bytes) in files {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    let output = command(&[&["chunk"], words].concat()).current_dir(dir.path()).output().unwrap();
    let text = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        text.replace(&dir.path().display().to_string(), "[dir]")
    };
    format!("exit {}\n{}---\n{}", output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_directory_is_cut_file_by_file_in_known_languages() {
    let files = [
        ("src/A.java", JAVA.as_bytes()),
        ("src/b.py", PYTHON.as_bytes()),
        ("src/c.txt", b"not taken"),
        ("src/.git/D.java", b"class D {}"),
    ];
    insta::assert_snapshot!(chunk(&files, &["src", "--max-size", "40"]), @r"
    exit 0
    --- src/A.java:1-4  27  in A
    class A {
        int first() {
            return 1;
        }
    --- src/A.java:5-9  22  in A

        int second() {
            return 2;
        }
    }
    --- src/b.py:1-3  25
    class B:
        def f(self):
            return 1
    ---
    ");
}

#[test]
fn header_and_overlap_stand_around_the_chunk() {
    let words = ["A.java", "--max-size", "40", "--header", "--overlap", "1"];
    insta::assert_snapshot!(chunk(&[("A.java", JAVA.as_bytes())], &words), @r"
    exit 0
    --- A.java:1-4  27  in A
    // A.java
    // A
    class A {
        int first() {
            return 1;
        }

    --- A.java:5-9  22  in A
    // A.java
    // A
        }

        int second() {
            return 2;
        }
    }
    ---
    ");
}

#[test]
fn json_has_every_byte_of_a_file_of_any_kind() {
    let bytes = b"one\r\n\xfftwo\nthree";
    let shown = chunk(&[("notes.txt", bytes)], &["notes.txt", "--max-size", "4", "--format", "json"]);
    let json = shown.strip_prefix("exit 0\n").unwrap().strip_suffix("---\n").unwrap();
    let chunks: Vec<serde_json::Value> = serde_json::from_str(json).unwrap();
    let byte = |chunk: &serde_json::Value, at: usize| chunk["bytes"][at].as_u64().unwrap() as usize;
    let joined: Vec<u8> =
        chunks.iter().flat_map(|chunk| bytes[byte(chunk, 0)..byte(chunk, 1)].to_vec()).collect();
    assert_eq!(joined, bytes);
    assert_eq!(chunks[1]["lines"], serde_json::json!([2, 2]));
    let torn: Vec<bool> = chunks.iter().map(|chunk| chunk["torn"].as_bool().unwrap()).collect();
    assert_eq!(torn, [false, false, true, true]);
}

#[test]
fn a_file_that_is_not_there_and_a_wrong_size_are_usage_errors() {
    insta::assert_snapshot!(chunk(&[], &["A.java"]), @r"
    exit 2
    ---
    error: cannot read [dir]/A.java: No such file or directory (os error 2)
    ");
    insta::assert_snapshot!(chunk(&[], &["A.java", "--max-size", "0"]), @r"
    exit 2
    ---
    error: --max-size is 0, but must be at least 1
    ");
}
