//! The hub played by a local server, and its cache on disk.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use super::*;
use crate::digest::sha256;

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// Files by name, as the hub would serve them.
type Files = Vec<(&'static str, Vec<u8>)>;

/// A hub on this machine that serves one model.
struct Served {
    hub: Hub,
    cache: tempfile::TempDir,
    /// Paths asked for, with the byte that the answer was to begin at, and the token.
    asked: Arc<Mutex<Vec<(String, usize, String)>>>,
}

/// Answers requests until the listener is dropped with the process. `damage` changes a file's bytes but not its digest.
fn serve(files: Files, damage: Option<&'static str>) -> Served {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { return };
            // A client that goes away is no error here.
            let _gone = answer(stream, &files, damage, &log);
        }
    });
    let cache = tempfile::tempdir().unwrap();
    let hub = Hub {
        cache: cache.path().to_owned(),
        endpoint: Some(endpoint),
        token: Some("secret".to_owned()),
        offline: false,
    };
    Served { hub, cache, asked }
}

fn answer(
    mut stream: TcpStream,
    files: &Files,
    damage: Option<&str>,
    log: &Mutex<Vec<(String, usize, String)>>,
) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().unwrap_or_else(|| Ok(String::new()))?;
    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
    let (mut range, mut token) = (String::new(), String::new());
    for line in lines {
        let line = line?.to_lowercase();
        match line.split_once(": ") {
            Some(("range", value)) => range = value.trim_start_matches("bytes=").to_owned(),
            Some(("authorization", value)) => token = value.to_owned(),
            _ if line.is_empty() => break,
            _ => {}
        }
    }
    let (from, to) = range.split_once('-').unwrap_or_default();
    let from: usize = from.parse().unwrap_or(0);
    log.lock().unwrap().push((path.clone(), from, token));
    if path.starts_with("/api/models/") {
        let siblings: Vec<_> = files.iter().map(|(name, _)| serde_json::json!({"rfilename": name})).collect();
        let body = serde_json::json!({"sha": COMMIT, "siblings": siblings}).to_string();
        return write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
    }
    let name = path.rsplit('/').next().unwrap_or_default();
    let Some((name, bytes)) = files.iter().find(|(file, _)| *file == name) else {
        return write!(stream, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    };
    let mut sent = bytes.clone();
    if damage == Some(*name) {
        sent[0] ^= 1;
    }
    let end = to.parse().map_or(sent.len(), |last: usize| (last + 1).min(sent.len()));
    write!(
        stream,
        "HTTP/1.1 206 Partial\r\nETag: \"{}\"\r\nX-Repo-Commit: {COMMIT}\r\nContent-Range: bytes {from}-{}/{}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        sha256(bytes),
        end.saturating_sub(1),
        sent.len(),
        end - from,
    )?;
    stream.write_all(&sent[from..end])
}

/// The files of the tiny CodeT5.
fn codet5() -> Files {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/models/codet5");
    ["config.json", "vocab.json", "merges.txt", "added_tokens.json", "pytorch_model.bin"]
        .map(|name| (name, std::fs::read(dir.join(name)).unwrap()))
        .into()
}

fn locate_quietly(name: &str, hub: &Hub) -> Result<PathBuf, ModelError> {
    locate(Path::new(name), hub, &mut |_| ())
}

#[test]
fn names_are_told_from_paths() {
    let id = |text| Spec::parse(text).id();
    assert_eq!(id("codet5-small"), Some("Salesforce/codet5-small"));
    assert_eq!(id("owner/name:Q4_0"), Some("owner/name"));
    assert_eq!(Spec::parse("owner/name:Q4_0").variant, Some("Q4_0"));
    for path in ["/x/y", "./x/y", "../x", "x", "models/a.gguf", "a/b/c", "C:/x"] {
        assert_eq!(id(path), None, "{path}");
    }
}

#[test]
fn a_model_is_fetched_once_and_then_found_without_the_hub() {
    let served = serve(codet5(), None);
    let mut seen = Vec::new();
    let dir = locate(Path::new("owner/tiny"), &served.hub, &mut |download| {
        seen.push((download.file.clone(), download.done, download.size));
    })
    .unwrap();
    assert!(super::super::load(&dir, super::super::LoadOptions::default()).is_ok());
    let size = std::fs::metadata(dir.join("pytorch_model.bin")).unwrap().len() as usize;
    assert_eq!(seen.last().unwrap(), &("pytorch_model.bin".to_owned(), size, size));
    let asked = std::mem::take(&mut *served.asked.lock().unwrap());
    assert!(asked.iter().all(|(_, _, token)| token == "bearer secret"), "{asked:?}");

    let offline = Hub { offline: true, ..served.hub.clone() };
    assert_eq!(locate_quietly("owner/tiny", &offline).unwrap(), dir);
    assert_eq!(locate_quietly("owner/tiny", &served.hub).unwrap(), dir);
    assert!(served.asked.lock().unwrap().is_empty());
}

#[test]
fn a_download_that_broke_off_goes_on_where_it_was() {
    let files = codet5();
    let weights = files.iter().find(|(name, _)| *name == "pytorch_model.bin").unwrap().1.clone();
    let served = serve(files, None);
    let blobs = served.cache.path().join("models--owner--tiny/blobs");
    std::fs::create_dir_all(&blobs).unwrap();
    std::fs::write(blobs.join(format!("{}.part", sha256(&weights))), &weights[..1000]).unwrap();
    let dir = locate_quietly("owner/tiny", &served.hub).unwrap();
    assert_eq!(std::fs::read(dir.join("pytorch_model.bin")).unwrap(), weights);
    let asked = served.asked.lock().unwrap();
    assert!(
        asked.iter().any(|(path, from, _)| path.ends_with("pytorch_model.bin") && *from == 1000),
        "{asked:?}"
    );
}

#[test]
fn a_file_that_was_damaged_is_removed_and_told() {
    let served = serve(codet5(), Some("pytorch_model.bin"));
    let error = locate_quietly("owner/tiny", &served.hub).unwrap_err();
    assert!(matches!(&error, ModelError::Damaged { path, .. } if !path.exists()), "{error:?}");
}

#[test]
fn what_cannot_be_had_is_told() {
    let served = serve(vec![("README.md", b"x".to_vec())], None);
    let error = locate_quietly("owner/empty", &served.hub).unwrap_err();
    assert_eq!(error.to_string(), "`owner/empty` has no weights that this program reads on the hub");
    let offline = Hub { offline: true, cache: "/nowhere".into(), ..served.hub.clone() };
    let error = locate_quietly("incoder-1b", &offline).unwrap_err();
    assert_eq!(
        error.to_string(),
        "model `facebook/incoder-1B` is not in `/nowhere` and the hub may not be asked: unset HF_HUB_OFFLINE, or give a directory"
    );
    let nobody = Hub { endpoint: Some("http://127.0.0.1:1".to_owned()), ..served.hub.clone() };
    let error = locate_quietly("owner/empty", &nobody).unwrap_err();
    assert_eq!(error.to_string(), "cannot fetch `list of files` of `owner/empty` from the hub");
    assert_eq!(locate_quietly("/nowhere/x.gguf", &offline).unwrap(), Path::new("/nowhere/x.gguf"));
}

#[test]
fn a_variant_chooses_among_the_files_of_a_directory() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["m-Q4_0.gguf", "m-Q8_0.gguf"] {
        std::fs::write(dir.path().join(name), "").unwrap();
    }
    let spec = |variant: &str| format!("{}:{variant}", dir.path().display());
    assert_eq!(locate_quietly(&spec("q8_0"), &Hub::default()).unwrap(), dir.path().join("m-Q8_0.gguf"));
    let error = locate_quietly(&spec("Q"), &Hub::default()).unwrap_err();
    assert!(
        error.to_string().ends_with("` does not hold exactly one GGUF file of the variant `Q`"),
        "{error}"
    );
}
