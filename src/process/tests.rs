//! Children that exit, hang, fork, flood and outlive.

use super::*;

fn sh(script: &str, deadline: Duration) -> Finished {
    let spec = Spec::new("/bin/sh", "/", deadline).args(["-c", script]).inherit(&["PATH"]);
    run(&spec, &Interrupt::default()).unwrap()
}

#[test]
fn status_and_both_outputs_come_back() {
    let finished = sh("echo out; echo err >&2; exit 3", Duration::from_secs(20));
    assert_eq!(finished.end, End::Exit(3));
    assert_eq!((finished.stdout.as_slice(), finished.stderr.as_slice()), (&b"out\n"[..], &b"err\n"[..]));
}

#[test]
fn the_deadline_kills_grandchildren_too() {
    let dir = tempfile::tempdir().unwrap();
    let pid_file = dir.path().join("pid");
    let finished =
        sh(&format!("sleep 600 & echo $! > {}; wait", pid_file.display()), Duration::from_millis(300));
    assert_eq!(finished.end, End::Deadline);
    let pid = std::fs::read_to_string(&pid_file).unwrap();
    let gone = || {
        std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()))
            .map_or(true, |stat| stat.contains(") Z ") || stat.contains(") X "))
    };
    let until = Instant::now() + Duration::from_secs(10);
    while !gone() && Instant::now() < until {
        std::thread::yield_now();
    }
    assert!(gone(), "grandchild {pid} is still running");
}

#[test]
fn endless_output_is_capped_at_both_ends() {
    let spec = Spec::new("/bin/sh", "/", Duration::from_secs(30))
        .args(["-c", "echo first; seq 1 100000; echo last"])
        .inherit(&["PATH"])
        .output_cap(1000);
    let text = String::from_utf8(run(&spec, &Interrupt::default()).unwrap().stdout).unwrap();
    assert!(text.len() <= 1000 && text.starts_with("first\n") && text.ends_with("last\n"), "{text}");
}

#[test]
fn a_process_that_left_the_group_does_not_hold_us_up() {
    let started = Instant::now();
    let finished = sh("setsid sleep 20 & echo out", Duration::from_secs(15));
    assert_eq!(finished.stdout, b"out\n");
    assert!(started.elapsed() < Duration::from_secs(15), "waited for the pipe's last holder");
}

#[test]
fn a_bound_child_dies_with_the_thread_that_started_it() {
    if !Path::new(BINDER).exists() {
        eprintln!("skipped: {BINDER} is not installed");
        return;
    }
    let spec = Spec::new("/bin/sleep", "/", Duration::from_secs(600)).arg("600").bound_to_us();
    let starter = std::thread::spawn(move || {
        let conversation = Conversation::start(&spec).unwrap().0;
        let comm = format!("/proc/{}/comm", conversation.id());
        while std::fs::read_to_string(&comm).unwrap() != "sleep\n" {
            std::thread::yield_now();
        }
        conversation
    });
    let mut conversation = starter.join().unwrap();
    let until = Instant::now() + Duration::from_secs(10);
    while !conversation.has_ended() && Instant::now() < until {
        std::thread::yield_now();
    }
    assert!(conversation.has_ended(), "the child outlives its parent");
}

#[test]
fn an_interrupt_ends_the_wait() {
    let interrupt = Interrupt::default();
    interrupt.set();
    let spec = Spec::new("/bin/sleep", "/", Duration::from_secs(600)).arg("600");
    assert!(matches!(run(&spec, &interrupt), Err(ProcessError::Interrupted)));
}

#[test]
fn a_missing_program_is_named() {
    let error = run(&Spec::new("/no/such", "/", Duration::from_secs(1)), &Interrupt::default()).unwrap_err();
    assert_eq!(error.to_string(), "cannot start `/no/such` in /");
}

#[test]
fn an_interrupt_reaches_the_children_of_children_and_not_the_other_way_round() {
    let user = Interrupt::default();
    let (child, other) = (user.child(), user.child());
    let grandchild = child.child();
    grandchild.set();
    assert!(!child.is_set() && !user.is_set());
    child.set();
    assert!(!user.is_set() && !other.is_set());
    let late = other.child();
    user.set();
    assert!(late.is_set() && other.is_set());
}
