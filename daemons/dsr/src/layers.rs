// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The protocol as this daemon runs it.

use hoplab_dsr_core::Dsr;
use hoplab_dsr_elfn::Notices;
use hoplab_dsr_split::Splitting;

/// The protocol with its layers.
pub type Core = Dsr<(Notices, Splitting)>;
