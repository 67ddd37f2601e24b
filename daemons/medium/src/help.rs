// SPDX-License-Identifier: Apache-2.0
//! What `--help` says, as a manual page would; keys are explained by their declaration.

use hoplab_keys::table;

pub const DESCRIPTION: &str = "\
An 802.11 channel for simulated radios.

Registers with the kernel's mac80211_hwsim and decides, by carrier sense, backoff, collisions, \
capture and distance, when each frame is on the air and who receives it; it is to studies what \
wmediumd is to tests. Prints 'ready' when registered, ends on SIGTERM or SIGINT with its records \
written. Needs CAP_NET_ADMIN and a kernel from 5.15 on with mac80211_hwsim loaded.";

/// The keys of FILE, as they are declared, and what else a manual page has.
pub fn manual() -> String {
    let keys = |name: &str, indent| table(name).help(indent);
    format!(
        "FILE is TOML, with the keys\n{}\n  [radio]{RADIO}\n{}    [radio.nic]\n{}    \
         [radio.energy]\n{}\n  [[station]]\n{}\n  [[loss]]\n{}\n  [[event]]\n{}\n  \
         [records]\n{}\n{REST}",
        keys("MediumFile", 2),
        keys("Radio", 4),
        keys("Nic", 6),
        keys("Energy", 6),
        keys("RadioStation", 4),
        keys("Loss", 4),
        keys("Event", 4),
        keys("Records", 4),
    )
}

const RADIO: &str = "                  a key without a default comes from the profile";

const REST: &str = "\
EXIT STATUS
  0 after SIGTERM or SIGINT, 1 for a mistake in FILE, a kernel that refuses or an end before
  duration_s, 2 for a wrong option

EXAMPLE
  modprobe mac80211_hwsim radios=2
  cat > two.toml <<'.'
  [[station]]
  name = \"a\"
  mac = \"02:00:00:00:00:00\"
  x_m = 0
  y_m = 0
  [[station]]
  name = \"b\"
  mac = \"02:00:00:00:01:00\"
  x_m = 100
  y_m = 0
  [records]
  dir = \"/tmp\"
  .
  hoplab-medium --check --config two.toml && hoplab-medium --config two.toml

The models and the formulas behind them are in docs/medium.md.";
