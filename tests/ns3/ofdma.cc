// SPDX-License-Identifier: Apache-2.0
// An access point of 802.11ax and saturated stations about it in ns-3.37: the same scenarios as
// Hoplab's.
//
// Build: g++ -O2 -std=c++17 ofdma.cc -lns3-core -lns3-network -lns3-wifi -lns3-mobility
//            -lns3-propagation -lns3-spectrum
//
// 20 MHz, MCS 5 of one stream, a guard interval of 0.8 us. Packets go by packet sockets, so there is
// no ARP. Stations are equally far away. None of their frames is given up.
//
// -down: packets to each station, "alone" (no OFDMA), or several stations' in one PPDU, by one of the
// acknowledgements "sequential", "mu-bar", "aggregated"; "none".
// -up: packets of each station, "alone" (by contention), "triggered" or "none". A triggered station
// does not contend for 32.768 ms (MU EDCA), as in Hoplab.
// -bar 1: a sender asks for a BlockAck that it misses. Otherwise it repeats its frames.
// Prints a line for each way: Mbit/s of payload, of 28 octets less than a packet.

#include "ns3/core-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/propagation-module.h"
#include "ns3/spectrum-module.h"
#include "ns3/wifi-module.h"

#include "radio.h"

#include <iostream>
#include <map>

using namespace ns3;

namespace {

const uint32_t HEADERS = 28; // UDP and IP, which a packet socket's packets do not have

struct Setting {
    std::string down = "mu-bar", up = "none";
    uint32_t stations = 9, octets = 1000, seed = 1, cwMin = 15, txopUs = 4800;
    bool bar = false;
    double offeredMbps = 100, from = 1, time = 6;

    bool IsTogether() const { return down != "none" && down != "alone"; }
};

Setting Parse(int argc, char** argv) {
    Setting own;
    CommandLine cmd;
    cmd.AddValue("down", "alone, sequential, mu-bar, aggregated or none", own.down);
    cmd.AddValue("up", "alone, triggered or none", own.up);
    cmd.AddValue("stations", "about the access point", own.stations);
    cmd.AddValue("octets", "payload of a packet", own.octets);
    cmd.AddValue("cwMin", "least contention window of all", own.cwMin);
    cmd.AddValue("txop", "us, limit of a TXOP", own.txopUs);
    cmd.AddValue("bar", "ask for a missing BlockAck", own.bar);
    cmd.AddValue("offered", "Mbit/s of each sender to each receiver", own.offeredMbps);
    cmd.AddValue("from", "s, from when on packets count", own.from);
    cmd.AddValue("time", "s, end", own.time);
    cmd.AddValue("seed", "number of the run", own.seed);
    cmd.Parse(argc, argv);
    return own;
}

// Before any radio is made.
void Prepare(const Setting& own) {
    SetDefaults(own.seed, false, 1000000);
    const std::map<std::string, WifiAcknowledgment::Method> acknowledgements{
        {"sequential", WifiAcknowledgment::DL_MU_BAR_BA_SEQUENCE},
        {"mu-bar", WifiAcknowledgment::DL_MU_TF_MU_BAR},
        {"aggregated", WifiAcknowledgment::DL_MU_AGGREGATE_TF}};
    if (own.IsTogether()) {
        Config::SetDefault("ns3::WifiDefaultAckManager::DlMuAckSequenceType",
                           EnumValue(acknowledgements.at(own.down)));
    }
    Config::SetDefault("ns3::WifiMacQueue::MaxSize", QueueSizeValue(QueueSize(PACKETS, 10000)));
    Config::SetDefault("ns3::HeConfiguration::MpduBufferSize", UintegerValue(256));
    Config::SetDefault("ns3::HeConfiguration::GuardInterval", TimeValue(NanoSeconds(800)));
    Config::SetDefault("ns3::QosTxop::UseExplicitBarAfterMissedBlockAck", BooleanValue(own.bar));
    Config::SetDefault("ns3::QosFrameExchangeManager::SetQueueSize", BooleanValue(true));
    if (own.up == "triggered") {
        Config::SetDefault("ns3::HeConfiguration::MuBeAifsn", UintegerValue(0));
        // An access point announces all timers or none.
        for (const char* category : {"Be", "Bk", "Vi", "Vo"}) {
            const std::string timer = std::string("ns3::HeConfiguration::") + category + "MuEdcaTimer";
            Config::SetDefault(timer, TimeValue(MicroSeconds(32768)));
        }
    }
}

// Stations stand on a circle about the access point.
void Place(const NodeContainer& access, const NodeContainer& stations) {
    const double radiusM = 5, apart = 2 * M_PI / stations.GetN();
    Ptr<ListPositionAllocator> places = CreateObject<ListPositionAllocator>();
    places->Add(Vector(0, 0, 0));
    for (uint32_t at = 0; at < stations.GetN(); ++at) {
        places->Add(Vector(radiusM * std::cos(at * apart), radiusM * std::sin(at * apart), 0));
    }
    MobilityHelper mobility;
    mobility.SetPositionAllocator(places);
    mobility.Install(NodeContainer(access, stations));
}

// A frame more than a TXOP holds, and 20 times fewer beacons than by default.
void Install(const Setting& own, const NodeContainer& access, const NodeContainer& stations,
             NetDeviceContainer& accessDevice, NetDeviceContainer& devices) {
    Ptr<MultiModelSpectrumChannel> channel = CreateObject<MultiModelSpectrumChannel>();
    channel->AddPropagationLossModel(CreateObject<FriisPropagationLossModel>());
    channel->SetPropagationDelayModel(CreateObject<ConstantSpeedPropagationDelayModel>());
    SpectrumWifiPhyHelper phy;
    phy.SetErrorRateModel("ns3::NistErrorRateModel");
    phy.SetChannel(channel);
    phy.DisablePreambleDetectionModel();
    phy.Set("ChannelSettings", StringValue("{36, 20, BAND_5GHZ, 0}"));

    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211ax);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager", "DataMode", StringValue("HeMcs5"),
                                 "ControlMode", StringValue("OfdmRate24Mbps"));
    WifiMacHelper mac;
    const Ssid ssid("cell");
    const UintegerValue most(own.octets * 300), whole(0);
    mac.SetType("ns3::StaWifiMac", "Ssid", SsidValue(ssid), "ActiveProbing", BooleanValue(true),
                "BE_MaxAmpduSize", most, "BE_MaxAmsduSize", whole);
    devices = wifi.Install(phy, mac, stations);
    if (own.IsTogether() || own.up == "triggered") {
        mac.SetMultiUserScheduler(
            "ns3::RrMultiUserScheduler", "NStations", UintegerValue(own.stations),
            "EnableTxopSharing", BooleanValue(false), "EnableUlOfdma",
            BooleanValue(own.up == "triggered"), "EnableBsrp", BooleanValue(false), "UlPsduSize",
            UintegerValue(2000), "UseCentral26TonesRus", BooleanValue(false), "AccessReqInterval",
            TimeValue(own.up == "triggered" ? MicroSeconds(10) : Seconds(0)));
    }
    mac.SetType("ns3::ApWifiMac", "Ssid", SsidValue(ssid), "BeaconInterval",
                TimeValue(MicroSeconds(20 * 102400)), "BE_MaxAmpduSize", most, "BE_MaxAmsduSize",
                whole);
    accessDevice = wifi.Install(phy, mac, access);
    wifi.AssignStreams(NetDeviceContainer(accessDevice, devices), 100);
    Place(access, stations);
}

void Contend(const Setting& own, Ptr<NetDevice> device) {
    PointerValue pointer;
    DynamicCast<WifiNetDevice>(device)->GetMac()->GetAttribute("BE_Txop", pointer);
    Ptr<QosTxop> txop = pointer.Get<QosTxop>();
    txop->SetMinCw(own.cwMin);
    txop->SetMaxCw(1023);
    txop->SetAifsn(3);
    txop->SetTxopLimit(MicroSeconds(own.txopUs));
}

void Received(uint64_t* octets, Time from, Ptr<const Packet> packet, const Address&) {
    if (Simulator::Now() >= from) {
        *octets += packet->GetSize() - HEADERS;
    }
}

void Count(Ptr<NetDevice> device, Time from, uint64_t* octets) {
    PacketSocketAddress own;
    own.SetSingleDevice(device->GetIfIndex());
    own.SetProtocol(1);
    Ptr<PacketSocketServer> server = CreateObject<PacketSocketServer>();
    server->SetLocal(own);
    device->GetNode()->AddApplication(server);
    server->TraceConnectWithoutContext("Rx", MakeBoundCallback(&Received, octets, from));
}

void Send(const Setting& own, Ptr<NetDevice> from, Ptr<NetDevice> to, double startS) {
    PacketSocketAddress remote;
    remote.SetSingleDevice(from->GetIfIndex());
    remote.SetPhysicalAddress(to->GetAddress());
    remote.SetProtocol(1);
    Ptr<PacketSocketClient> client = CreateObject<PacketSocketClient>();
    client->SetRemote(remote);
    client->SetAttribute("PacketSize", UintegerValue(own.octets + HEADERS));
    client->SetAttribute("MaxPackets", UintegerValue(0));
    client->SetAttribute("Interval", TimeValue(Seconds(8e-6 * own.octets / own.offeredMbps)));
    from->GetNode()->AddApplication(client);
    client->SetStartTime(Seconds(startS));
}

} // namespace

int main(int argc, char** argv) {
    const Setting own = Parse(argc, argv);
    Prepare(own);
    NodeContainer access(1), stations(own.stations);
    NetDeviceContainer accessDevice, devices;
    Install(own, access, stations, accessDevice, devices);
    PacketSocketHelper sockets;
    sockets.Install(NodeContainer(access, stations));
    const Ptr<NetDevice> ap = accessDevice.Get(0);
    uint64_t down = 0, up = 0;
    Contend(own, ap);
    Count(ap, Seconds(own.from), &up);
    Ptr<UniformRandomVariable> start = CreateObject<UniformRandomVariable>();
    for (uint32_t at = 0; at < own.stations; ++at) {
        const Ptr<NetDevice> station = devices.Get(at);
        Contend(own, station);
        Count(station, Seconds(own.from), &down);
        if (own.down != "none") {
            Send(own, ap, station, start->GetValue(0.5, 0.6));
        }
        if (own.up != "none") {
            Send(own, station, ap, start->GetValue(0.5, 0.6));
        }
    }
    Simulator::Stop(Seconds(own.time));
    Simulator::Run();
    const double seconds = own.time - own.from;
    std::cout << 8e-6 * down / seconds << std::endl << 8e-6 * up / seconds << std::endl;
    Simulator::Destroy();
}
