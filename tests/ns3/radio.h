// SPDX-License-Identifier: Apache-2.0
// A station's radio in ns-3, as the programs beside it need it.

#pragma once

#include "ns3/core-module.h"
#include "ns3/wifi-module.h"

#include <cmath>

// It is an heir of the MAC's part that exchanges frames, as only heirs see what is set here.
struct Radio : ns3::FrameExchangeManager {
    ns3::Ptr<ns3::WifiPhy> phy;
    ns3::Ptr<ns3::FrameExchangeManager> manager;

    void Take(ns3::Ptr<ns3::WifiNetDevice> device) {
        phy = device->GetPhy();
        manager = device->GetMac()->GetFrameExchangeManager();
    }

    // A frame ends now that the radio could not follow: EIFS comes after it.
    void FailAfter() {
        if (!phy->IsStateRx() && !phy->IsStateTx()) {
            Access()->NotifyRxStartNow(ns3::Seconds(0));
            Access()->NotifyRxEndErrorNow();
        }
    }

    ns3::ChannelAccessManager* Access() const {
        return ns3::PeekPointer(ns3::PeekPointer(manager)->*(&Radio::m_channelAccessManager));
    }
};

// How long the rest of an OFDM frame lasts after its header (IEEE 802.11-2020 17.3.2).
inline double AfterHeaderUs(ns3::Ptr<const ns3::Packet> packet, double mbps) {
    return 4 * std::ceil((22 + 8.0 * packet->GetSize()) / (4 * mbps));
}

// Before any radio is made. Packets wait for as long as they must: the queue is kept full, and its age
// is not measured.
inline void SetDefaults(uint32_t seed, bool rts, uint32_t tries) {
    using namespace ns3;
    RngSeedManager::SetRun(seed);
    Config::SetDefault("ns3::WifiRemoteStationManager::RtsCtsThreshold", UintegerValue(rts ? 0 : 4692480));
    Config::SetDefault("ns3::WifiRemoteStationManager::MaxSlrc", UintegerValue(tries));
    Config::SetDefault("ns3::WifiRemoteStationManager::MaxSsrc", UintegerValue(tries));
    Config::SetDefault("ns3::WifiMacQueue::MaxDelay", TimeValue(Seconds(1000)));
}
