//! Processor time and memory of this process and its children, from `/proc`.

use std::path::Path;

/// Kernel clock ticks per second that `/proc` counts in, on every Linux that this runs on.
const TICKS: f64 = 100.0;

fn stat(pid: &str) -> Option<(u32, f64)> {
    let text = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat")).ok()?;
    let fields: Vec<&str> = text.rsplit(')').next()?.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<f64>().ok();
    Some((fields.get(1)?.parse().ok()?, (ticks(11)? + ticks(12)?) / TICKS))
}

/// Of this process alone.
pub fn own_cpu_seconds() -> f64 {
    stat("self").expect("there is a /proc").1
}

/// Of this process and the children that run now.
pub fn cpu_seconds() -> f64 {
    let own = std::process::id();
    let children: f64 = std::fs::read_dir("/proc")
        .expect("there is a /proc")
        .filter_map(|entry| stat(entry.ok()?.file_name().to_str()?))
        .filter_map(|(parent, cpu)| (parent == own).then_some(cpu))
        .sum();
    own_cpu_seconds() + children
}

fn status_mb(field: &str) -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("there is a /proc");
    let line = text.lines().find_map(|line| line.strip_prefix(field)).expect("the kernel says so");
    let kb: f64 =
        line.trim_start_matches(':').trim().trim_end_matches(" kB").parse().expect("a number of kB");
    kb / 1024.0
}

/// Resident memory.
pub fn resident_mb() -> f64 {
    status_mb("VmRSS")
}

/// The most resident memory so far.
pub fn peak_mb() -> f64 {
    status_mb("VmHWM")
}
