// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Frames on their way to the interface. The kernel may take only some of those that one call
//! offers. Frames without room wait and go first the next time. The protocol hears of frames that
//! the kernel refuses: a forgotten one would look like a broken link half a second later.

use hoplab_dsr_core::Token;
use std::collections::VecDeque;
use std::io;

/// Most frames that wait for room. The protocol has only a few unicast frames under way. So many
/// frames are therefore broadcasts of several seconds, and the interface is stuck.
const CAPACITY: usize = 64;

pub struct Frame {
    pub token: Token,
    pub bytes: Vec<u8>,
}

impl AsRef<[u8]> for Frame {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[derive(Default)]
pub struct Outbox(VecDeque<Frame>);

impl Outbox {
    pub fn push(&mut self, frame: Frame) {
        self.0.push_back(frame);
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Offers the frames in their order to `send`, which says how many were taken and why the
    /// next one was not. Returns the frames that will never be sent.
    pub fn flush(
        &mut self,
        mut send: impl FnMut(&[Frame]) -> (usize, Option<io::Error>),
    ) -> Vec<Token> {
        let mut refused = Vec::new();
        while !self.0.is_empty() {
            let (taken, error) = send(self.0.make_contiguous());
            self.0.drain(..taken.min(self.0.len()));
            match error {
                // The kernel refused the first frame for itself. Those behind it get their own try.
                Some(error) if error.kind() != io::ErrorKind::WouldBlock => {
                    refused.extend(self.0.pop_front().map(|frame| frame.token));
                }
                _ => break,
            }
        }
        let beyond = self.0.drain(CAPACITY.min(self.0.len())..);
        refused.extend(beyond.map(|frame| frame.token));
        refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outbox(tokens: std::ops::Range<u64>) -> Outbox {
        let mut outbox = Outbox::default();
        for token in tokens {
            outbox.push(Frame {
                token: Token(token),
                bytes: vec![token as u8],
            });
        }
        outbox
    }

    fn tokens(frames: &[Frame]) -> Vec<u64> {
        frames.iter().map(|frame| frame.token.0).collect()
    }

    /// A kernel with room for `room` frames.
    fn kernel(room: usize) -> impl FnMut(&[Frame]) -> (usize, Option<io::Error>) {
        move |frames| match frames.len() > room {
            true => (room, Some(io::ErrorKind::WouldBlock.into())),
            false => (frames.len(), None),
        }
    }

    #[test]
    fn what_was_not_taken_goes_first_the_next_time() {
        let mut outbox = outbox(0..5);
        assert_eq!(outbox.flush(kernel(2)), []);
        assert_eq!(outbox.0.len(), 3);
        outbox.push(Frame {
            token: Token(9),
            bytes: vec![9],
        });
        let mut seen = Vec::new();
        let refused = outbox.flush(|frames| {
            seen = tokens(frames);
            (frames.len(), None)
        });
        assert_eq!((seen, refused), (vec![2, 3, 4, 9], vec![]));
        assert!(outbox.is_empty());
    }

    #[test]
    fn a_refused_frame_is_told_and_the_others_go() {
        let mut outbox = outbox(0..4);
        let mut sent = Vec::new();
        // The kernel drops the frame 1, say because the queue of the interface is full.
        let refused = outbox.flush(|frames| {
            let before = frames.iter().take_while(|frame| frame.token.0 != 1);
            let taken: Vec<u64> = before.map(|frame| frame.token.0).collect();
            let count = taken.len();
            sent.extend(taken);
            match count < frames.len() {
                true => (count, Some(io::Error::from_raw_os_error(105))),
                false => (count, None),
            }
        });
        assert_eq!(refused, [Token(1)]);
        assert_eq!(sent, [0, 2, 3]);
        assert!(outbox.is_empty());
    }

    #[test]
    fn a_stuck_interface_does_not_fill_the_memory() {
        let mut outbox = outbox(0..70);
        let refused = outbox.flush(kernel(0));
        assert_eq!(outbox.0.len(), CAPACITY);
        assert_eq!(refused, (64..70).map(Token).collect::<Vec<_>>());
    }
}
