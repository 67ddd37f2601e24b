// SPDX-License-Identifier: Apache-2.0
//! First process of a sealed guest, whose root is the machine's own, in memory.
//!
//! Of the host it has two folders. That of the guest is /run/host, with `job`: the command as
//! positional parameters of a shell. That of the run is /out. Both are named by way of the kernel's
//! own folder, the same in every run. A script would start a process for each of these steps, at
//! some milliseconds each in every run.

#![forbid(unsafe_code)]

use hoplab_linux::interface::Configurator;
use rustix::mount::MountFlags;
use rustix::process::{wait, WaitOptions};
use rustix::system::{finit_module, reboot, sethostname, RebootCommand};
use rustix::termios::{tcgetattr, tcsetattr, OptionalActions};
use std::ffi::CString;
use std::fmt::Display;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// Type, place, and options of what is mounted, in this order.
const MOUNTS: [(&str, &str, &str); 11] = [
    ("proc", "/proc", ""),
    ("sysfs", "/sys", ""),
    ("cgroup2", "/sys/fs/cgroup", ""),
    ("debugfs", "/sys/kernel/debug", ""),
    ("devtmpfs", "/dev", ""),
    ("devpts", "/dev/pts", "mode=620,ptmxmode=666"),
    ("tmpfs", "/dev/shm", "mode=1777"),
    ("tmpfs", "/tmp", "mode=1777"),
    ("tmpfs", "/run", "mode=1777"),
    ("hostfs", "/run/host", "/proc/self/cwd"),
    ("hostfs", "/out", "/proc/self/cwd/out"),
];
/// Folders that are made at need, in what has been mounted before.
const MADE: [&str; 3] = ["/dev/pts", "/dev/shm", "/run/host"];
/// What programs know their descriptors by, and what it leads to; kselftest writes its log there.
const DESCRIPTORS: [(&str, &str); 4] = [
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
];
const NAMESPACES: &str = "/run/netns";
const MODULES: &str = "/usr/lib/modules";
const STATUS: &str = "/run/host/status";
/// Terminals of the job: its input and output, and its errors.
const TERMINALS: [&str; 2] = ["/dev/tty0", "/dev/tty1"];
/// The job's environment, beside what its folder of the host says.
///
/// The C library has variants of its functions for processors with and without the features in
/// `GLIBC_TUNABLES`; the mathematical ones differ in the last digit. All take the one that every
/// x86-64 processor has.
const ENVIRONMENT: [(&str, &str); 10] = [
    ("PATH", "/usr/sbin:/usr/bin"),
    ("HOME", "/root"),
    ("TERM", "dumb"),
    ("TZ", "UTC"),
    ("LC_ALL", "C"),
    ("PYTHONUTF8", "1"),
    ("PYTHONHASHSEED", "0"),
    ("PYTHONDONTWRITEBYTECODE", "1"),
    ("PYTHONPATH", "/hoplab:/usr/lib/python3/dist-packages"),
    (
        "GLIBC_TUNABLES",
        "glibc.cpu.hwcaps=-AVX,-AVX2,-FMA,-FMA4,-AVX512F,-AVX512VL,-AVX512BW,-ERMS,-FSRM,-MOVBE,\
         -BMI1,-BMI2,-LZCNT,-POPCNT,-SSE4_1,-SSE4_2,-SSSE3",
    ),
];
/// Memory that files' pages leave free. A PPDU of 320 MHz brings hundreds of frames at one instant,
/// which may not wait until such pages are given back. By itself the kernel keeps the root of 16 times
/// its kilobytes: 2.9 MB of 512 (mm/page_alloc.c).
const FREE_KB: &str = "16384\n";
const JOB: &str = ". /run/host/job; exec \"$@\"";

/// The kernel panics when its first process ends; the host shows the line before.
fn main() -> ExitCode {
    if let Err(message) = run() {
        eprintln!("init: {message}");
    }
    ExitCode::FAILURE
}

/// Carry out the job and power off, from which there is no return but an error.
fn run() -> Result<(), String> {
    settled()?;
    let status = job()?;
    named(STATUS, fs::write(STATUS, format!("{status}\n")))?;
    named("power", reboot(RebootCommand::PowerOff))
}

fn named<T, E: Display>(what: &str, result: Result<T, E>) -> Result<T, String> {
    result.map_err(|error| format!("{what}: {error}"))
}

/// Mount all, load the modules, and set what is the same in every run.
fn settled() -> Result<(), String> {
    for (kind, place, options) in MOUNTS {
        if MADE.contains(&place) {
            named(place, fs::create_dir_all(place))?;
        }
        let options = named(place, CString::new(options))?;
        let mounted = rustix::mount::mount("none", place, kind, MountFlags::empty(), &*options);
        named(place, mounted)?;
    }
    named(NAMESPACES, fs::create_dir(NAMESPACES))?;
    for (place, target) in DESCRIPTORS {
        named(place, symlink(target, place))?;
    }
    for module in modules()? {
        let name = module.display().to_string();
        let file = named(&name, File::open(&module))?;
        named(&name, finit_module(&file, c"", 0))?;
    }
    named("host's name", sethostname(b"hoplab"))?;
    named("printk", fs::write("/proc/sys/kernel/printk", "1\n"))?;
    named(
        "min_free_kbytes",
        fs::write("/proc/sys/vm/min_free_kbytes", FREE_KB),
    )?;
    for terminal in TERMINALS {
        let file = named(terminal, File::open(terminal))?;
        let mut settings = named(terminal, tcgetattr(&file))?;
        settings.make_raw();
        named(terminal, tcsetattr(&file, OptionalActions::Now, &settings))?;
    }
    named("lo", Configurator::new().and_then(|lo| lo.up("lo")))
}

/// Return the modules' files, in the order of their names.
fn modules() -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    for entry in named(MODULES, fs::read_dir(MODULES))? {
        found.push(named(MODULES, entry)?.path());
    }
    found.retain(|path| path.extension().is_some_and(|ending| ending == "ko"));
    found.sort();
    Ok(found)
}

/// Carry out the job. Returns its status as a shell gives it.
fn job() -> Result<i32, String> {
    let [terminal, errors] = TERMINALS;
    let opened = |name| named(name, File::options().read(true).write(true).open(name));
    let child = Command::new("/usr/bin/sh")
        .args(["-c", JOB])
        .env_clear()
        .envs(ENVIRONMENT)
        .stdin(opened(terminal)?)
        .stdout(opened(terminal)?)
        .stderr(opened(errors)?)
        .spawn();
    let child = named("sh", child)?.id();
    loop {
        // What the job left behind becomes a child of the first process, and ends as one.
        match named("wait", wait(WaitOptions::empty()))? {
            Some((ended, status)) if ended.as_raw_nonzero().get().unsigned_abs() == child => {
                let signal = status.terminating_signal().map(|number| 128 + number);
                return Ok(status.exit_status().or(signal).unwrap_or(1));
            }
            _ => {}
        }
    }
}
