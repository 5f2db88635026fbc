//! Indexes that outlive a process: what is cut again, what is found, and what never is.

use std::path::Path;

use repair::model::Embedder;
use repair::retrieval::{
    CHUNK_SIZE, Embedded, Query, Refreshed, Snapshot, Store, StoreError, embed_missing, refresh, search,
};

#[path = "parts/cache.rs"]
mod place;
use place::cache;

const OPEN: &str = "class Gate {\n    void openSesame(int times) {\n    }\n}\n";
const SHUT: &str = "class Door {\n    void shutFast(int times) {\n    }\n}\n";

fn write(root: &Path, files: &[(&str, &str)]) {
    for (file, text) in files {
        let path = root.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

fn snapshot(repository: &str) -> Snapshot {
    Snapshot { repository: repository.to_owned(), revision: "1".to_owned() }
}

/// Citations of what is found for some words.
fn found(store: &mut dyn Store, name: &str, words: &str) -> Vec<String> {
    let found = search(store, &snapshot(name), &Query::from_words(words), None, 10).unwrap();
    found.iter().map(|found| found.chunk.citation()).collect()
}

#[test]
fn only_what_has_another_content_is_cut_again() {
    let (root, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(
        root.path(),
        &[("a/Gate.java", OPEN), ("a/Door.java", SHUT), ("b/gone.py", "def gone():\n    pass\n")],
    );
    let mut store = Embedded::new(dir.path().join("index"));
    let mut refreshed = || refresh(&mut store, &snapshot("r"), root.path(), CHUNK_SIZE).unwrap();
    assert_eq!(refreshed(), Refreshed { files: 3, cut: 3, removed: 0 });
    assert_eq!(refreshed(), Refreshed { files: 3, cut: 0, removed: 0 });
    std::fs::remove_file(root.path().join("b/gone.py")).unwrap();
    write(root.path(), &[("a/Door.java", &SHUT.replace("shutFast", "shutSlowly"))]);
    assert_eq!(refreshed(), Refreshed { files: 2, cut: 1, removed: 1 });
    // Another process reads what this one wrote.
    let mut store = Embedded::new(dir.path().join("index"));
    assert_eq!(found(&mut store, "r", "shut_slowly"), ["a/Door.java:1-4"]);
    assert_eq!(found(&mut store, "r", "gone fast"), Vec::<String>::new());
    let missing = search(&mut store, &snapshot("other"), &Query::from_words("a"), None, 1).unwrap_err();
    assert!(matches!(missing, StoreError::NoSnapshot(_)), "{missing}");
}

#[test]
fn the_fix_is_not_found_where_only_version_control_and_builds_have_it() {
    let (root, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let fixed = OPEN.replace("openSesame", "mendedByHuman");
    write(
        root.path(),
        &[
            ("pom.xml", "<project/>"),
            ("src/Gate.java", OPEN),
            (".git/fixed/Gate.java", &fixed),
            (".svn/pristine/Gate.java", &fixed),
            (".hg/Gate.java", &fixed),
            ("src/CVS/Gate.java", &fixed),
            ("target/generated-sources/Gate.java", &fixed),
            ("target/surefire-reports/Gate.txt", &fixed),
            ("src/Gate.java.orig", &fixed),
            ("fix.patch", &fixed),
        ],
    );
    let mut store = Embedded::new(dir.path().to_owned());
    let done = refresh(&mut store, &snapshot("r"), root.path(), CHUNK_SIZE).unwrap();
    assert_eq!(done.files, 1);
    assert_eq!(found(&mut store, "r", "mendedByHuman"), Vec::<String>::new());
    assert_eq!(found(&mut store, "r", "openSesame"), ["src/Gate.java:1-4"]);
}

#[test]
fn writers_side_by_side_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for writer in 0..4_u8 {
            let dir = dir.path().to_owned();
            scope.spawn(move || {
                let root = tempfile::tempdir().unwrap();
                let mut store = Embedded::new(dir);
                for file in 0..5 {
                    let path = format!("w{writer}/F{file}.java");
                    write(root.path(), &[(&path, &OPEN.replace("Gate", &format!("Gate{writer}of{file}")))]);
                    refresh(&mut store, &snapshot(&format!("r{writer}")), root.path(), CHUNK_SIZE).unwrap();
                    store
                        .put_vectors("m", &[([writer * 16 + file; 32], vec![f32::from(writer); 3])])
                        .unwrap();
                }
            });
        }
    });
    let mut store = Embedded::new(dir.path().to_owned());
    for writer in 0..4 {
        assert_eq!(store.contents(&snapshot(&format!("r{writer}"))).unwrap().len(), 5);
    }
    let file = std::fs::read_dir(dir.path().join("vectors")).unwrap().next().unwrap().unwrap().path();
    assert_eq!(std::fs::metadata(file).unwrap().len(), 4 + 20 * (32 + 3 * 4));
}

#[test]
fn what_a_kill_left_of_a_record_is_overwritten() {
    let (root, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(root.path(), &[("Gate.java", OPEN), ("Door.java", SHUT)]);
    let mut store = Embedded::new(dir.path().to_owned());
    refresh(&mut store, &snapshot("r"), root.path(), CHUNK_SIZE).unwrap();
    let missing = store.without_vector(&snapshot("r"), "m").unwrap();
    let (first, second) = (missing[0].0, missing[1].0);
    store.put_vectors("m", &[(first, vec![1.0, 0.0])]).unwrap();
    let file = std::fs::read_dir(dir.path().join("vectors")).unwrap().next().unwrap().unwrap().path();
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, [&bytes[..], b"cut short"].concat()).unwrap();
    assert_eq!(store.without_vector(&snapshot("r"), "m").unwrap().len(), 1);
    store.put_vectors("m", &[(second, vec![0.0, 1.0])]).unwrap();
    assert_eq!(store.nearest(&snapshot("r"), "m", &[0.0, 1.0], 2).unwrap(), [(second, 1.0), (first, 0.0)]);
}

/// The default embedding model; says so where it is not there.
fn embedder() -> Option<Embedder> {
    let dir = cache().join("models/all-MiniLM-L6-v2");
    if !dir.is_dir() {
        eprintln!("skipped: no {}; run scripts/setup.sh", dir.display());
        return None;
    }
    Some(Embedder::load(&dir, Some(1)).unwrap())
}

/// First numbers as a computation in double precision with `NumPy` gives them, straight from the weights.
#[test]
fn vectors_are_those_of_the_model_in_any_company() {
    let Some(embedder) = embedder() else { return };
    let long = "x ".repeat(400);
    let texts = ["int readToken() { return stream.next(); }", "Closes the file and frees its handle.", &long];
    let expected = [
        [0.00239, 0.0137, -0.05751, -0.0726, -0.03833, 0.04691],
        [-0.0613, 0.05895, -0.05056, 0.042, 0.08791, -0.03981],
        [-0.00206, -0.03747, -0.03149, -0.04256, -0.10017, -0.08265],
    ];
    let together = embedder.embed(&texts).unwrap();
    for ((text, vector), expected) in texts.iter().zip(&together).zip(expected) {
        assert_eq!(vector.len(), embedder.width());
        let near = |a: f32, b: f32| assert!((a - b).abs() < 1e-4, "{a} {b}");
        for (&a, b) in vector.iter().zip(expected) {
            near(a, b);
        }
        let alone = &embedder.embed(&[text]).unwrap()[0];
        for (&a, &b) in vector.iter().zip(alone) {
            near(a, b);
        }
        near(vector.iter().map(|x| x * x).sum(), 1.0);
    }
}

#[test]
fn a_search_by_meaning_finds_what_no_word_leads_to() {
    let Some(embedder) = embedder() else { return };
    let (root, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let files = [
        (
            "Mail.java",
            "class Mail { void send(String address, String message) { post(address, message); } }\n",
        ),
        ("Sum.java", "class Sum { int add(int a, int b) { return a + b; } }\n"),
    ];
    write(root.path(), &files);
    let mut store = Embedded::new(dir.path().to_owned());
    refresh(&mut store, &snapshot("r"), root.path(), CHUNK_SIZE).unwrap();
    let mut embed = |texts: &[&str]| embedder.embed(texts).map_err(Into::into);
    let mut add = |store: &mut Embedded| {
        embed_missing(store, &snapshot("r"), embedder.sha256(), &mut embed, &mut |_, _| ()).unwrap()
    };
    assert_eq!((add(&mut store), add(&mut store)), (2, 0));
    for (words, path) in [("electronic letters", "Mail.java"), ("arithmetic on numbers", "Sum.java")] {
        let vector = embedder.embed(&[words]).unwrap().swap_remove(0);
        let dense = Some((embedder.sha256(), vector.as_slice()));
        let found = search(&mut store, &snapshot("r"), &Query::from_words(words), dense, 2).unwrap();
        assert_eq!(&*found[0].chunk.path, path);
        assert!(found[0].lexical.is_none() && found[0].dense.unwrap().rank == 1);
    }
}
