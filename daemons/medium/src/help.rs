// SPDX-License-Identifier: Apache-2.0
//! What `--help` says, as a manual page would.

pub const DESCRIPTION: &str = "\
An 802.11 channel for simulated radios.

Registers with the kernel's mac80211_hwsim and decides, by carrier sense, backoff, collisions, \
capture and distance, when each frame is on the air and who receives it; it is to studies what \
wmediumd is to tests. Prints 'ready' when registered, ends on SIGTERM or SIGINT with its records \
written. Needs CAP_NET_ADMIN and a kernel from 5.15 on with mac80211_hwsim loaded.";

pub const MANUAL: &str = "\
FILE
  seed = 1                 all randomness derives from it
  epoch_ns = N             CLOCK_MONOTONIC of time 0, in ns; without it, the time of the start
  duration_s = S           records end this long after time 0; without it, when the daemon does
  overhear = true          hand frames also to bystanders, whose monitor interfaces show them;
                           false saves most of the work where nobody listens

  [radio]                  any key that is not given comes from the profile
    profile                wavelan (default), hv99, ns2-stock, 80211b, 80211g, 80211a
    standard               802.11, 802.11b, 802.11g, 802.11a
    channel                1 to 200; named in captures
    rate_mbps              data rate or \"auto\"; the kernel chooses it, here it is only checked
    basic_rate_mbps        rate of ACK, CTS, RTS
    plcp_rate_mbps         1, 2 or 6: rate of the PLCP header
    preamble               long, short
    mac                    80211; csma-ca-noack: no acknowledgement, no retry
    rts_threshold          bytes; the kernel applies it and asks for RTS frame by frame
    retry_short, retry_long  tries without and with RTS protection
    retry_rules            standard: those two; kernel: as often as its rate table says
    queue_packets          frames that wait in a radio's interface queue
    routing_priority       true: routing messages go before the others
    cw_min, cw_max         contention window in slots
    slot_us, sifs_us       timing
    propagation            two-ray, friis, log-distance
    exponent, reference_m  of log-distance; 3 and 1 m
    shadowing_db           standard deviation of a link's loss, 0
    fading                 none, rayleigh, nakagami; per frame and receiver
    nakagami_m             0.5 and above; 1
    tx_power_dbm, frequency_mhz, antenna_height_m, antenna_gain_dbi
    range_m or rx_threshold_dbm, carrier_sense_m or cs_threshold_dbm
    capture_db             ratio to interference that a reception needs
    rules                  802.11; ns-2: backoff before every frame, reception and responses
                           as ns-2.35 has them
    capture_later          true: a receiver changes to a later frame stronger by capture_db
    noise_dbm              counts in the ratio where it is given; thermal noise + 7 dB else
    reception              threshold; error-rate: bit errors by rate and ratio
    nic = { tx_ring, rx_service_mbps, rx_buffer_packets }    0 is none
    energy = { preset, tx_w, rx_w, idle_w, sleep_w, battery_j }
                           presets: ns2, lucent-bronze, lucent-silver

  [[station]]              name, mac, x_m, y_m, waypoints = [[t_s, x_m, y_m], ...]
  [[loss]]                 kind uniform: rate; gilbert-elliott: p_good_to_bad, p_bad_to_good,
                           loss_good, loss_bad; burst: rate, on_s, period_s, start_s; list: frames;
                           src and dst limit it to a sender and a receiver
  [[event]]                at_s and kind down, up: station; move: station, x_m, y_m;
                           loss: src, dst, rate

  [records]
    dir                    folder of nodes.jsonl, radios.jsonl, links.jsonl, signals.jsonl and
                           medium.json, the daemon's account of itself
    interval_s             of nodes.jsonl, 0.1
    frames                 true: every frame on the air with its fate, in frames.jsonl
    air_capture            FILE: what was on the air, pcapng with radiotap

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
