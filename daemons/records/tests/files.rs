// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Other things in a table's place: nobody waits for them or writes into them.

use crate::common::Folder;
use hoplab_records::{file, radios, Error, Writer};
use std::ffi::CString;
use std::io::{self, Read, Write};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

fn pipe(path: &Path) {
    let name = CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: mkfifo reads a name that ends in a zero octet.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
}

fn refused(path: &Path, what: &str) {
    let read = (what != "a link").then(|| file::read(path));
    for opened in [file::create(path), file::append(path)]
        .into_iter()
        .chain(read)
    {
        let why = opened.expect_err("no regular file").to_string();
        assert!(why.starts_with("is no regular file but a"), "{why}");
        assert!(why.contains(what), "{why}");
    }
}

#[test]
fn a_pipe_blocks_nobody_with_and_without_its_other_end() {
    let folder = Folder::new("pipe");
    let path = folder.0.join("radios.jsonl");
    pipe(&path);
    refused(&path, "a pipe");
    let _other = std::fs::File::options().read(true).write(true).open(&path);
    refused(&path, "a pipe");
    let writer = Writer::<radios::Table>::create_in(&folder.0, None);
    let Err(Error::File { path: named, why }) = writer else {
        panic!("a pipe is no table's file");
    };
    assert_eq!((named, why.kind()), (path, io::ErrorKind::InvalidInput));
}

#[test]
fn links_sockets_folders_and_devices_are_named() {
    let folder = Folder::new("others");
    let (own, link) = (folder.0.join("own"), folder.0.join("link"));
    std::fs::write(&own, "the user's").unwrap();
    symlink(&own, &link).unwrap();
    refused(&link, "a link");
    // A daemon's document is /proc/self/fd/3.
    let mut text = String::new();
    file::read(&link)
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    assert_eq!(text, "the user's");
    let socket = folder.0.join("socket");
    let _listener = UnixListener::bind(&socket).unwrap();
    refused(&socket, "a socket");
    refused(&folder.0, "a folder");
    refused(Path::new("/dev/null"), "a device");
}

#[test]
fn regular_files_are_replaced_added_to_and_read() {
    let folder = Folder::new("regular");
    let path = folder.0.join("text");
    file::create(&path).unwrap().write_all(b"longer").unwrap();
    file::create(&path).unwrap().write_all(b"text").unwrap();
    file::append(&path)
        .unwrap()
        .write_all(b" and more")
        .unwrap();
    let mut text = String::new();
    file::read(&path)
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    assert_eq!(text, "text and more");
    assert!(file::read(&folder.0.join("absent")).is_err());
}
