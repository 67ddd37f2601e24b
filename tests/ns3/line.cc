// SPDX-License-Identifier: Apache-2.0
// Stations on a line in ns-3.37: the same scenarios as Hoplab's.
//
// Build: g++ -O2 -std=c++17 line.cc -lns3-core -lns3-network -lns3-wifi -lns3-mobility
//            -lns3-propagation -lns3-internet -lns3-applications -lns3-traffic-control
//
// IEEE 802.11a, ad hoc, without QoS. Every station has a route to every other one by its neighbours
// on the line, and knows all addresses. A radio senses whatever comes to the threshold -sense, also
// without its preamble, and receives the first frame of at least that power. Four options bring
// ns-3's ways to Hoplab's: -errors nist, -host 40, -navReset 0 and -senseAll 1. Prints a line a flow:
// packets a second that its destination got, and kbit/s of their payload.

#include "ns3/applications-module.h"
#include "ns3/channel-access-manager.h"
#include "ns3/core-module.h"
#include "ns3/frame-exchange-manager.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/propagation-module.h"
#include "ns3/traffic-control-module.h"
#include "ns3/wifi-module.h"

#include "radio.h"
#include "words.h"

#include <cmath>
#include <iostream>

using namespace ns3;

namespace {

constexpr double LIGHT_M_S = 299792458.0;

struct Flow {
    uint32_t source, destination;
};

std::vector<double> Places(const std::string& text) {
    std::vector<double> found;
    for (const std::string& word : Words(text)) {
        found.push_back(std::stod(word));
    }
    return found;
}

std::vector<Flow> Flows(const std::string& text) {
    std::vector<Flow> found;
    for (const std::string& word : Words(text)) {
        Flow one{};
        NS_ABORT_MSG_IF(std::sscanf(word.c_str(), "%u:%u", &one.source, &one.destination) != 2,
                        word << ": expected SOURCE:DESTINATION");
        found.push_back(one);
    }
    return found;
}

// What a flow's destination got since the beginning of the count.
struct Count {
    double fromS = 0;
    uint64_t packets = 0, octets = 0;

    void Got(Ptr<const Packet> packet, const Address&) {
        if (Simulator::Now().GetSeconds() >= fromS) {
            packets += 1;
            octets += packet->GetSize();
        }
    }
};

// A radio that keeps its NAV and senses frames as Hoplab's do.
struct OnLine : Radio {
    double senseDbm = 0;
    Ptr<PropagationLossModel> loss;
    const std::vector<OnLine>* all = nullptr;
    Time began = Seconds(-1);

    // A NAV that an RTS had set ends when it says, also if no data follows (IEEE 802.11-2020 10.3.2.4
    // permits both). The MAC plans the early end when the RTS has ended, for some slots later.
    void KeepNav(Ptr<const Packet>) { Simulator::Schedule(MicroSeconds(1), &OnLine::CancelReset, this); }

    void Begin(Ptr<const Packet>, double) { began = Simulator::Now(); }

    // A frame that a radio cannot follow, as it came with or during another or during its own, keeps
    // the channel busy until its end, and EIFS follows. Stations contend at 6 Mbit/s only.
    void Sense(Ptr<const Packet> packet, WifiPhyRxfailureReason reason) {
        if (reason == PREAMBLE_DETECT_FAILURE || (reason != L_SIG_FAILURE && !Hears())) {
            return; // below the threshold
        }
        const double headerUs = 20;
        const double us = (reason == L_SIG_FAILURE ? 0 : headerUs) + AfterHeaderUs(packet, 6);
        const Time left = NanoSeconds(int64_t(1e3 * us));
        Access()->NotifyCcaBusyStartNow(left, WIFI_CHANLIST_PRIMARY, {});
        Simulator::Schedule(left, &OnLine::FailAfter, this);
    }

  private:
    // Whether the frame that arrives now comes from a station above the threshold.
    bool Hears() const {
        const Ptr<MobilityModel> here = phy->GetMobility();
        for (const OnLine& other : *all) {
            const Ptr<MobilityModel> there = other.phy->GetMobility();
            const Time late = Simulator::Now() - other.began -
                              Seconds(here->GetDistanceFrom(there) / LIGHT_M_S);
            if (&other != this && std::abs(late.GetNanoSeconds()) < 10 &&
                loss->CalcRxPower(phy->GetTxPowerStart(), there, here) >= senseDbm) {
                return true;
            }
        }
        return false;
    }

    void CancelReset() { (PeekPointer(manager)->*(&OnLine::m_navResetEvent)).Cancel(); }
};

// Hands a packet to the host `after` its frame ended.
bool HandUp(Ptr<TrafficControlLayer> host, Time after, Ptr<NetDevice> device, Ptr<const Packet> packet,
            uint16_t protocol, const Address& from) {
    Simulator::Schedule(after, &TrafficControlLayer::Receive, host, device, packet, protocol, from,
                        device->GetAddress(), NetDevice::PACKET_HOST);
    return true;
}

Ptr<PropagationLossModel> Loss(const std::string& kind, double mhz, double exponent, double height) {
    if (kind == "log-distance") {
        // Free space for the first metre.
        const double wave = LIGHT_M_S / (1e6 * mhz);
        Ptr<LogDistancePropagationLossModel> model = CreateObject<LogDistancePropagationLossModel>();
        model->SetAttribute("Exponent", DoubleValue(exponent));
        model->SetAttribute("ReferenceDistance", DoubleValue(1));
        model->SetAttribute("ReferenceLoss", DoubleValue(20 * std::log10(4 * M_PI / wave)));
        return model;
    }
    Ptr<TwoRayGroundPropagationLossModel> model = CreateObject<TwoRayGroundPropagationLossModel>();
    model->SetAttribute("Frequency", DoubleValue(1e6 * mhz));
    model->SetAttribute("HeightAboveZ", DoubleValue(height));
    return model;
}

} // namespace

int main(int argc, char** argv) {
    std::string kind = "udp", mode = "OfdmRate6Mbps", control = "OfdmRate6Mbps";
    std::string placeText = "0+20", flowText = "0:1", propagation = "log-distance";
    std::string errors = "table";
    uint32_t octets = 1000, seed = 1, tries = 7, queue = 50, window = 8;
    bool rts = false, navReset = true, senseAll = false;
    double host = 0, from = 1, time = 11, mbps = 6, dbm = 15, sense = -82, mhz = 5180, exponent = 3, height = 1.5;
    CommandLine cmd;
    cmd.AddValue("kind", "udp or tcp", kind);
    cmd.AddValue("places", "m, of each station: X+X+...", placeText);
    cmd.AddValue("flows", "SOURCE:DESTINATION+...", flowText);
    cmd.AddValue("mode", "rate of data", mode);
    cmd.AddValue("control", "rate of RTS", control);
    cmd.AddValue("rts", "RTS before every frame", rts);
    cmd.AddValue("tries", "of a frame and of an RTS", tries);
    cmd.AddValue("queue", "packets that wait for a radio", queue);
    cmd.AddValue("octets", "payload of a datagram or a segment", octets);
    cmd.AddValue("navReset", "whether a NAV ends if no data follows an RTS", navReset);
    cmd.AddValue("senseAll", "whether frames that cannot be followed keep the channel busy", senseAll);
    cmd.AddValue("errors", "model of errors: nist or table, ns-3's default", errors);
    cmd.AddValue("host", "us from a frame's end until the host has its packet", host);
    cmd.AddValue("mbps", "payload that a UDP source sends", mbps);
    cmd.AddValue("window", "segments of a TCP connection at once", window);
    cmd.AddValue("dbm", "power of a sender", dbm);
    cmd.AddValue("sense", "dBm from which on a radio senses and receives", sense);
    cmd.AddValue("propagation", "log-distance or two-ray", propagation);
    cmd.AddValue("exponent", "of log-distance", exponent);
    cmd.AddValue("height", "m, of antennas", height);
    cmd.AddValue("mhz", "carrier", mhz);
    cmd.AddValue("from", "s, from when on packets count", from);
    cmd.AddValue("time", "s, end", time);
    cmd.AddValue("seed", "number of the run", seed);
    cmd.Parse(argc, argv);
    SetDefaults(seed, rts, tries);
    Config::SetDefault("ns3::WifiMacQueue::MaxSize", StringValue(std::to_string(queue) + "p"));
    // Linux's Reno: no SACK, each segment acknowledged, least timeout 200 ms in ticks of 4 ms.
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpLinuxReno"));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MilliSeconds(4)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(octets));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(window * octets));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(window * octets));

    const std::vector<double> places = Places(placeText);
    NodeContainer nodes(places.size());
    MobilityHelper mobility;
    Ptr<ListPositionAllocator> positions = CreateObject<ListPositionAllocator>();
    for (const double x : places) {
        positions->Add(Vector(x, 0, 0));
    }
    mobility.SetPositionAllocator(positions);
    mobility.Install(nodes);

    Ptr<YansWifiChannel> channel = CreateObject<YansWifiChannel>();
    const Ptr<PropagationLossModel> loss = Loss(propagation, mhz, exponent, height);
    channel->SetPropagationLossModel(loss);
    channel->SetPropagationDelayModel(CreateObject<ConstantSpeedPropagationDelayModel>());
    YansWifiPhyHelper phy;
    phy.SetChannel(channel);
    phy.SetPreambleDetectionModel("ns3::ThresholdPreambleDetectionModel", "Threshold", DoubleValue(-100),
                                  "MinimumRssi", DoubleValue(sense));
    phy.SetErrorRateModel(errors == "nist" ? "ns3::NistErrorRateModel" : "ns3::TableBasedErrorRateModel");
    phy.Set("CcaEdThreshold", DoubleValue(sense));
    phy.Set("RxSensitivity", DoubleValue(-150));
    phy.Set("TxPowerStart", DoubleValue(dbm));
    phy.Set("TxPowerEnd", DoubleValue(dbm));
    phy.Set("ChannelSettings", StringValue("{36, 20, BAND_5GHZ, 0}"));

    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211a);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager", "DataMode", StringValue(mode),
                                 "ControlMode", StringValue(control));
    WifiMacHelper mac;
    mac.SetType("ns3::AdhocWifiMac", "QosSupported", BooleanValue(false));
    NetDeviceContainer devices = wifi.Install(phy, mac, nodes);
    wifi.AssignStreams(devices, 100);

    InternetStackHelper stack;
    Ipv4StaticRoutingHelper routing;
    stack.SetRoutingHelper(routing);
    stack.SetIpv6StackInstall(false);
    stack.Install(nodes);
    Ipv4AddressHelper addresses;
    addresses.SetBase("10.0.0.0", "255.255.0.0");
    Ipv4InterfaceContainer ends = addresses.Assign(devices);
    TrafficControlHelper().Uninstall(devices);
    Ptr<ArpCache> known = CreateObject<ArpCache>();
    for (uint32_t at = 0; at < places.size(); ++at) {
        ArpCache::Entry* entry = known->Add(ends.GetAddress(at));
        entry->SetMacAddress(devices.Get(at)->GetAddress());
        entry->MarkPermanent();
    }
    std::vector<OnLine> radios(places.size());
    for (uint32_t at = 0; at < places.size(); ++at) {
        Ptr<Ipv4L3Protocol> ip = nodes.Get(at)->GetObject<Ipv4L3Protocol>();
        ip->GetInterface(ip->GetInterfaceForDevice(devices.Get(at)))
            ->SetAttribute("ArpCache", PointerValue(known));
        devices.Get(at)->SetReceiveCallback(
            MakeBoundCallback(&HandUp, nodes.Get(at)->GetObject<TrafficControlLayer>(),
                              NanoSeconds(int64_t(1e3 * host))));
        OnLine& one = radios[at];
        one.Take(DynamicCast<WifiNetDevice>(devices.Get(at)));
        one.senseDbm = sense;
        one.loss = loss;
        one.all = &radios;
        one.phy->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&OnLine::Begin, &one));
        if (!navReset) {
            one.phy->TraceConnectWithoutContext("PhyRxEnd", MakeCallback(&OnLine::KeepNav, &one));
        }
        if (senseAll) {
            one.phy->TraceConnectWithoutContext("PhyRxDrop", MakeCallback(&OnLine::Sense, &one));
        }
        Ptr<Ipv4StaticRouting> table = routing.GetStaticRouting(ip);
        for (uint32_t to = 0; to < places.size(); ++to) {
            if (to + 1 < at || to > at + 1) {
                table->AddHostRouteTo(ends.GetAddress(to), ends.GetAddress(to > at ? at + 1 : at - 1), 1);
            }
        }
    }

    const std::vector<Flow> flows = Flows(flowText);
    std::vector<Count> counts(flows.size());
    Ptr<UniformRandomVariable> start = CreateObject<UniformRandomVariable>();
    for (size_t which = 0; which < flows.size(); ++which) {
        const uint16_t port = 5000 + which;
        const Ipv4Address to = ends.GetAddress(flows[which].destination);
        counts[which].fromS = from;
        PacketSinkHelper sink(kind == "tcp" ? "ns3::TcpSocketFactory" : "ns3::UdpSocketFactory",
                              InetSocketAddress(Ipv4Address::GetAny(), port));
        ApplicationContainer listening = sink.Install(nodes.Get(flows[which].destination));
        listening.Start(Seconds(0));
        listening.Get(0)->TraceConnectWithoutContext("Rx", MakeCallback(&Count::Got, &counts[which]));
        ApplicationContainer made;
        if (kind == "tcp") {
            BulkSendHelper sender("ns3::TcpSocketFactory", InetSocketAddress(to, port));
            sender.SetAttribute("MaxBytes", UintegerValue(0));
            sender.SetAttribute("SendSize", UintegerValue(octets));
            made = sender.Install(nodes.Get(flows[which].source));
        } else {
            OnOffHelper sender("ns3::UdpSocketFactory", InetSocketAddress(to, port));
            sender.SetAttribute("OnTime", StringValue("ns3::ConstantRandomVariable[Constant=1000]"));
            sender.SetAttribute("OffTime", StringValue("ns3::ConstantRandomVariable[Constant=0]"));
            sender.SetAttribute("DataRate", DataRateValue(DataRate(uint64_t(1e6 * mbps))));
            sender.SetAttribute("PacketSize", UintegerValue(octets));
            made = sender.Install(nodes.Get(flows[which].source));
        }
        made.Start(Seconds(0.01 + start->GetValue(0, 0.01)));
    }

    Simulator::Stop(Seconds(time));
    Simulator::Run();
    for (const Count& count : counts) {
        std::cout << count.packets / (time - from) << " " << 8e-3 * count.octets / (time - from)
                  << std::endl;
    }
    Simulator::Destroy();
}
