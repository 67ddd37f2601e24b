// SPDX-License-Identifier: Apache-2.0
// Saturated senders about one receiver in ns-3.37: the same scenarios as Hoplab's.
//
// Build: g++ -O2 -std=c++17 wifi.cc -lns3-core -lns3-network -lns3-wifi -lns3-mobility
//            -lns3-propagation
//
// Packets go by packet sockets, so there is no ARP, and the stations are ad hoc, whose MAC in ns-3
// sends no beacons. Every pair of stations has the same loss and no delay. A frame whose preamble
// is lost to a collision still makes its hearers wait EIFS, as in Bianchi's model. "-errors nist":
// one whose header is lost does, too, and no frame survives another as strong. Prints a line a
// class: Mbit/s of the packets' octets and frames a second that the receiver got.

#include "ns3/core-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/propagation-module.h"
#include "ns3/wifi-module.h"

#include "radio.h"
#include "words.h"

#include <iostream>
#include <map>

using namespace ns3;

namespace {

struct Class {
    uint32_t stations, aifsn, cwMin, cwMax, txopUs;
};

std::vector<Class> Classes(const std::string& text) {
    std::vector<Class> found;
    for (const std::string& word : Words(text)) {
        Class one{};
        NS_ABORT_MSG_IF(std::sscanf(word.c_str(), "%u:%u:%u:%u:%u", &one.stations, &one.aifsn,
                                    &one.cwMin, &one.cwMax, &one.txopUs) != 5,
                        word << ": expected STATIONS:AIFSN:CWMIN:CWMAX:TXOP_US");
        found.push_back(one);
    }
    return found;
}

std::map<Address, uint64_t> g_octets, g_packets;

void Received(Time from, Ptr<const Packet> packet, const Address& sender) {
    if (Simulator::Now() < from) {
        return;
    }
    const Address mac = PacketSocketAddress::ConvertFrom(sender).GetPhysicalAddress();
    g_octets[mac] += packet->GetSize();
    g_packets[mac] += 1;
}

// Of single OFDM frames.
struct Hearer : Radio {
    double mbps = 0;

    void Fail(Ptr<const Packet> packet, WifiPhyRxfailureReason reason) {
        if (reason == L_SIG_FAILURE) {
            const int64_t ns = int64_t(1e3 * AfterHeaderUs(packet, mbps));
            Simulator::Schedule(NanoSeconds(ns), &Hearer::FailAfter, this);
        }
    }
};

} // namespace

int main(int argc, char** argv) {
    std::string standard = "80211a", mode = "OfdmRate54Mbps", control = "OfdmRate24Mbps";
    std::string classText = "1:3:15:1023:0", errors = "table";
    uint32_t width = 20, streams = 1, octets = 1500, seed = 1, ampdu = 0;
    bool shortGuard = false, rts = false;
    double from = 1, time = 11, offeredMbps = 60;
    CommandLine cmd;
    cmd.AddValue("standard", "80211a, 80211n or 80211ac", standard);
    cmd.AddValue("mode", "rate of data", mode);
    cmd.AddValue("control", "rate of RTS", control);
    cmd.AddValue("width", "MHz", width);
    cmd.AddValue("streams", "spatial streams", streams);
    cmd.AddValue("shortGuard", "guard interval of 400 ns", shortGuard);
    cmd.AddValue("rts", "RTS before every frame", rts);
    cmd.AddValue("octets", "of a packet, without LLC", octets);
    cmd.AddValue("ampdu", "most octets of an A-MPDU; 0: single frames", ampdu);
    cmd.AddValue("classes", "STATIONS:AIFSN:CWMIN:CWMAX:TXOP_US+...", classText);
    cmd.AddValue("errors", "model of errors: nist or table, ns-3's default", errors);
    cmd.AddValue("offered", "Mbit/s of each station", offeredMbps);
    cmd.AddValue("from", "s, from when on packets count", from);
    cmd.AddValue("time", "s, end", time);
    cmd.AddValue("seed", "number of the run", seed);
    cmd.Parse(argc, argv);
    // A try more than any run has: no frame is given up, as in the models.
    SetDefaults(seed, rts, 1000000);

    const std::vector<Class> classes = Classes(classText);
    uint32_t senders = 0;
    for (const Class& one : classes) {
        senders += one.stations;
    }
    NodeContainer nodes(senders + 1);
    MobilityHelper mobility;
    mobility.Install(nodes);

    Ptr<YansWifiChannel> channel = CreateObject<YansWifiChannel>();
    Ptr<FixedRssLossModel> loss = CreateObject<FixedRssLossModel>();
    loss->SetRss(-40);
    channel->SetPropagationLossModel(loss);
    channel->SetPropagationDelayModel(CreateObject<ConstantSpeedPropagationDelayModel>());
    YansWifiPhyHelper phy;
    phy.SetChannel(channel);
    phy.DisablePreambleDetectionModel();
    phy.SetErrorRateModel(errors == "nist" ? "ns3::NistErrorRateModel" : "ns3::TableBasedErrorRateModel");
    phy.Set("Antennas", UintegerValue(streams));
    phy.Set("MaxSupportedTxSpatialStreams", UintegerValue(streams));
    phy.Set("MaxSupportedRxSpatialStreams", UintegerValue(streams));
    phy.Set("ChannelSettings", StringValue("{0, " + std::to_string(width) + ", BAND_5GHZ, 0}"));

    WifiHelper wifi;
    const std::map<std::string, WifiStandard> standards{{"80211a", WIFI_STANDARD_80211a},
                                                        {"80211n", WIFI_STANDARD_80211n},
                                                        {"80211ac", WIFI_STANDARD_80211ac}};
    wifi.SetStandard(standards.at(standard));
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager", "DataMode", StringValue(mode),
                                 "ControlMode", StringValue(control));
    WifiMacHelper mac;
    mac.SetType("ns3::AdhocWifiMac", "QosSupported", BooleanValue(true), "BE_MaxAmpduSize",
                UintegerValue(ampdu), "BE_MaxAmsduSize", UintegerValue(0));
    NetDeviceContainer devices = wifi.Install(phy, mac, nodes);
    wifi.AssignStreams(devices, 100);

    std::vector<Hearer> hearers(errors == "nist" ? nodes.GetN() : 0);
    for (uint32_t at = 0; at < hearers.size(); ++at) {
        Hearer& one = hearers[at];
        one.Take(DynamicCast<WifiNetDevice>(devices.Get(at)));
        NS_ABORT_MSG_IF(std::sscanf(mode.c_str(), "OfdmRate%lfMbps", &one.mbps) != 1,
                        mode << ": expected OfdmRateMMbps with -errors nist");
        one.phy->TraceConnectWithoutContext("PhyRxDrop", MakeCallback(&Hearer::Fail, &one));
    }

    PacketSocketHelper sockets;
    sockets.Install(nodes);
    std::vector<std::vector<Address>> members(classes.size());
    uint32_t at = 1;
    Ptr<UniformRandomVariable> start = CreateObject<UniformRandomVariable>();
    for (size_t which = 0; which < classes.size(); ++which) {
        for (uint32_t i = 0; i < classes[which].stations; ++i, ++at) {
            Ptr<WifiNetDevice> device = DynamicCast<WifiNetDevice>(devices.Get(at));
            PointerValue pointer;
            device->GetMac()->GetAttribute("BE_Txop", pointer);
            Ptr<QosTxop> txop = pointer.Get<QosTxop>();
            txop->SetAifsn(classes[which].aifsn);
            txop->SetMinCw(classes[which].cwMin);
            txop->SetMaxCw(classes[which].cwMax);
            txop->SetTxopLimit(MicroSeconds(classes[which].txopUs));
            if (shortGuard) {
                device->GetHtConfiguration()->SetShortGuardIntervalSupported(true);
            }
            members[which].push_back(device->GetAddress());
            PacketSocketAddress to;
            to.SetSingleDevice(device->GetIfIndex());
            to.SetPhysicalAddress(devices.Get(0)->GetAddress());
            to.SetProtocol(1);
            Ptr<PacketSocketClient> client = CreateObject<PacketSocketClient>();
            client->SetRemote(to);
            client->SetAttribute("PacketSize", UintegerValue(octets));
            client->SetAttribute("MaxPackets", UintegerValue(0));
            client->SetAttribute("Interval", TimeValue(Seconds(8e-6 * octets / offeredMbps)));
            nodes.Get(at)->AddApplication(client);
            client->SetStartTime(Seconds(0.01 + start->GetValue(0, 0.1)));
        }
    }
    if (shortGuard) {
        DynamicCast<WifiNetDevice>(devices.Get(0))
            ->GetHtConfiguration()
            ->SetShortGuardIntervalSupported(true);
    }
    PacketSocketAddress own;
    own.SetSingleDevice(devices.Get(0)->GetIfIndex());
    own.SetProtocol(1);
    Ptr<PacketSocketServer> server = CreateObject<PacketSocketServer>();
    server->SetLocal(own);
    nodes.Get(0)->AddApplication(server);
    server->TraceConnectWithoutContext("Rx", MakeBoundCallback(&Received, Seconds(from)));

    Simulator::Stop(Seconds(time));
    Simulator::Run();
    for (const auto& each : members) {
        uint64_t sum = 0, packets = 0;
        for (const Address& address : each) {
            sum += g_octets[address];
            packets += g_packets[address];
        }
        std::cout << 8e-6 * sum / (time - from) << " " << packets / (time - from) << std::endl;
    }
    Simulator::Destroy();
}
