// SPDX-License-Identifier: Apache-2.0
// AODV, OLSR and DSDV of ns-3.37 among stations that move by an ns-2 movement file.
//
// Build: g++ -O2 -std=c++17 routing.cc -lns3-core -lns3-network -lns3-wifi -lns3-mobility
//            -lns3-propagation -lns3-internet -lns3-aodv -lns3-olsr -lns3-dsdv
//
// The radio is Hoplab's profile `wavelan`: IEEE 802.11b at 2 Mbit/s, broadcasts and ACKs at 1, two-ray
// ground at 914 MHz, 250 m to receive, 550 m to sense, no RTS. A frame is received if its power is ten
// times the sum of the others'. Each flow sends datagrams at even intervals. Prints what the flows sent
// and what arrived; packets and IP octets of the routing protocol, counted anew at each hop; hops of
// the packets that arrived; and the longest time without an arrival from -quiet on.

#include "ns3/aodv-module.h"
#include "ns3/core-module.h"
#include "ns3/dsdv-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/olsr-module.h"
#include "ns3/propagation-module.h"
#include "ns3/wifi-module.h"

#include "radio.h"
#include "words.h"

#include <iostream>

using namespace ns3;

namespace {

constexpr double CAPTURE = 10;
constexpr uint8_t TTL = 64;
constexpr uint16_t FIRST_PORT = 5000; // of the flows

// A frame survives interference that is weaker by CAPTURE.
struct Capture : ErrorRateModel {
    static TypeId GetTypeId() {
        static TypeId id = TypeId("hoplab::Capture").SetParent<ErrorRateModel>().AddConstructor<Capture>();
        return id;
    }

  private:
    double DoGetChunkSuccessRate(WifiMode, const WifiTxVector&, double snr, uint64_t, uint8_t, WifiPpduField,
                                 uint16_t) const override {
        return snr >= CAPTURE ? 1 : 0;
    }
};

NS_OBJECT_ENSURE_REGISTERED(Capture);

struct Flow {
    uint32_t source, destination, octets;
    double start;
};

std::vector<Flow> Flows(const std::string& text) {
    std::vector<Flow> found;
    for (const std::string& word : Words(text)) {
        Flow one{};
        NS_ABORT_MSG_IF(std::sscanf(word.c_str(), "%u:%u:%u:%lf", &one.source, &one.destination, &one.octets,
                                    &one.start) != 4,
                        word << ": expected SOURCE:DESTINATION:OCTETS:START");
        found.push_back(one);
    }
    return found;
}

struct Counts {
    uint16_t port = 0; // of the routing protocol
    double quiet = 0, last = 0, gap = 0;
    uint64_t sent = 0, delivered = 0, hops = 0, packets = 0, octets = 0;

    // A packet goes to a link.
    void Sent(Ptr<const Packet> packet, Ptr<Ipv4>, uint32_t) {
        if (Port(packet) == port) {
            packets += 1;
            octets += packet->GetSize();
        }
    }

    // A packet is at its destination, and may be a flow's.
    void Arrived(const Ipv4Header& header, Ptr<const Packet> packet, uint32_t) {
        UdpHeader udp;
        if (header.GetProtocol() == UdpL4Protocol::PROT_NUMBER && packet->PeekHeader(udp) &&
            udp.GetDestinationPort() >= FIRST_PORT) {
            hops += TTL + 1 - header.GetTtl();
        }
    }

    void Got(Ptr<Socket> socket) {
        while (socket->Recv()) {
            delivered += 1;
            Alive();
        }
    }

    // Something arrived, or the run ends.
    void Alive() {
        const double now = Simulator::Now().GetSeconds();
        if (now > quiet) {
            gap = std::max(gap, now - std::max(last, quiet));
        }
        last = now;
    }

  private:
    static uint16_t Port(Ptr<const Packet> packet) {
        Ptr<Packet> rest = packet->Copy();
        Ipv4Header ip;
        UdpHeader udp;
        rest->RemoveHeader(ip);
        if (ip.GetProtocol() != UdpL4Protocol::PROT_NUMBER) {
            return 0;
        }
        rest->RemoveHeader(udp);
        return udp.GetDestinationPort();
    }
};

void Send(Ptr<Socket> socket, Flow flow, InetSocketAddress to, Time interval, Counts* counts) {
    // What finds no route is sent too, and lost.
    socket->SendTo(Create<Packet>(flow.octets), 0, to);
    counts->sent += 1;
    Simulator::Schedule(interval, &Send, socket, flow, to, interval, counts);
}

// AODV's table of neighbours is private, which an explicit instantiation may name.
aodv::Neighbors aodv::RoutingProtocol::*Table();
template <aodv::Neighbors aodv::RoutingProtocol::*member>
struct Named {
    friend aodv::Neighbors aodv::RoutingProtocol::*Table() { return member; }
};
template struct Named<&aodv::RoutingProtocol::m_nb>;

// A frame that fails breaks the link to any next hop. In ns-3 it does so only within seconds of a request
// or a Hello of that station; and a silent neighbour's routes break without any frame.
struct Watch {
    Ptr<aodv::RoutingProtocol> protocol;
    Ipv4InterfaceContainer ends;

    void All() {
        for (uint32_t at = 0; at < ends.GetN(); ++at) {
            ((*PeekPointer(protocol)).*Table()).Update(ends.GetAddress(at), Days(1));
        }
    }

    void Failed(WifiMacDropReason, Ptr<const WifiMpdu>) { Simulator::ScheduleNow(&Watch::All, this); }
};

// From here on all stations have each other's link-layer addresses.
void Introduce(NodeContainer nodes, Ipv4InterfaceContainer ends, NetDeviceContainer devices) {
    for (uint32_t at = 0; at < nodes.GetN(); ++at) {
        Ptr<Ipv4L3Protocol> ip = nodes.Get(at)->GetObject<Ipv4L3Protocol>();
        Ptr<ArpCache> cache = ip->GetInterface(ip->GetInterfaceForDevice(devices.Get(at)))->GetArpCache();
        for (uint32_t to = 0; to < nodes.GetN(); ++to) {
            ArpCache::Entry* entry = cache->Add(ends.GetAddress(to));
            entry->SetMacAddress(devices.Get(to)->GetAddress());
            entry->MarkPermanent();
        }
    }
}

} // namespace

int main(int argc, char** argv) {
    std::string protocol = "aodv", moves, flowText = "0:1:64:1";
    uint32_t stations = 30, seed = 1;
    bool known = true, watch = false, hello = true, gratuitous = true;
    double rate = 2, time = 200, quiet = 0, spread = 0;
    CommandLine cmd;
    cmd.AddValue("protocol", "aodv, olsr or dsdv", protocol);
    cmd.AddValue("stations", "how many", stations);
    cmd.AddValue("moves", "their ns-2 movement file", moves);
    cmd.AddValue("flows", "SOURCE:DESTINATION:OCTETS:START+...", flowText);
    cmd.AddValue("rate", "datagrams a second of a flow", rate);
    cmd.AddValue("known", "whether link-layer addresses are known; else ARP asks", known);
    cmd.AddValue("watch", "AODV: whether each failed frame breaks a link", watch);
    cmd.AddValue("hello", "AODV: Hello messages of all stations", hello);
    cmd.AddValue("gratuitous", "AODV: relays that answer tell the destination", gratuitous);
    cmd.AddValue("spread", "OLSR: share by which stations' intervals differ, else all begin together", spread);
    cmd.AddValue("quiet", "s, from when on the longest silence counts", quiet);
    cmd.AddValue("time", "s, end", time);
    cmd.AddValue("seed", "number of the run", seed);
    cmd.Parse(argc, argv);
    SetDefaults(seed, false, 7);
    Config::SetDefault("ns3::WifiMacQueue::MaxSize", StringValue("50p"));

    NodeContainer nodes(stations);
    Ns2MobilityHelper(moves).Install();

    // Powers at 250 m and 550 m (two-ray, antennas 1.5 m high), as ns-2's scripts give them.
    const double receiveDbm = 10 * std::log10(3.652e-10) + 30, senseDbm = 10 * std::log10(1.559e-11) + 30;
    Ptr<TwoRayGroundPropagationLossModel> loss = CreateObject<TwoRayGroundPropagationLossModel>();
    loss->SetAttribute("Frequency", DoubleValue(914e6));
    loss->SetAttribute("HeightAboveZ", DoubleValue(1.5));
    Ptr<YansWifiChannel> channel = CreateObject<YansWifiChannel>();
    channel->SetPropagationLossModel(loss);
    channel->SetPropagationDelayModel(CreateObject<ConstantSpeedPropagationDelayModel>());
    YansWifiPhyHelper phy;
    phy.SetChannel(channel);
    phy.SetPreambleDetectionModel("ns3::ThresholdPreambleDetectionModel", "Threshold", DoubleValue(0),
                                  "MinimumRssi", DoubleValue(receiveDbm));
    phy.SetErrorRateModel("hoplab::Capture");
    phy.Set("CcaEdThreshold", DoubleValue(senseDbm));
    phy.Set("RxSensitivity", DoubleValue(-150));
    phy.Set("TxPowerStart", DoubleValue(24.5));
    phy.Set("TxPowerEnd", DoubleValue(24.5));
    phy.Set("RxGain", DoubleValue(0));
    phy.Set("TxGain", DoubleValue(0));
    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211b);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager", "DataMode", StringValue("DsssRate2Mbps"),
                                 "ControlMode", StringValue("DsssRate1Mbps"), "NonUnicastMode",
                                 StringValue("DsssRate1Mbps"));
    WifiMacHelper mac;
    mac.SetType("ns3::AdhocWifiMac", "QosSupported", BooleanValue(false));
    NetDeviceContainer devices = wifi.Install(phy, mac, nodes);

    Counts counts;
    counts.quiet = quiet;
    InternetStackHelper stack;
    AodvHelper aodv;
    OlsrHelper olsr;
    DsdvHelper dsdv;
    if (protocol == "aodv") {
        counts.port = aodv::RoutingProtocol::AODV_PORT;
        aodv.Set("EnableHello", BooleanValue(hello));
        aodv.Set("GratuitousReply", BooleanValue(gratuitous));
        // The lifetime of a reply, by RFC 3561 twice ACTIVE_ROUTE_TIMEOUT.
        aodv.Set("MyRouteTimeout", TimeValue(Seconds(6)));
        stack.SetRoutingHelper(aodv);
    } else if (protocol == "olsr") {
        counts.port = 698;
        stack.SetRoutingHelper(olsr);
    } else {
        NS_ABORT_MSG_IF(protocol != "dsdv", protocol << ": expected aodv, olsr or dsdv");
        counts.port = dsdv::RoutingProtocol::DSDV_PORT;
        stack.SetRoutingHelper(dsdv);
    }
    stack.SetIpv6StackInstall(false);
    stack.Install(nodes);
    Ipv4AddressHelper addresses;
    addresses.SetBase("10.0.0.0", "255.255.0.0");
    Ipv4InterfaceContainer ends = addresses.Assign(devices);
    if (known) {
        Introduce(nodes, ends, devices);
    }
    Ptr<UniformRandomVariable> draw = CreateObject<UniformRandomVariable>();
    for (uint32_t at = 0; spread > 0 && at < stations; ++at) {
        const double factor = draw->GetValue(1 - spread / 2, 1 + spread / 2);
        Ptr<Ipv4RoutingProtocol> own = nodes.Get(at)->GetObject<Ipv4L3Protocol>()->GetRoutingProtocol();
        own->SetAttribute("HelloInterval", TimeValue(Seconds(2 * factor)));
        own->SetAttribute("TcInterval", TimeValue(Seconds(5 * factor)));
    }
    std::vector<Watch> watches(stations);
    for (uint32_t at = 0; at < stations; ++at) {
        Ptr<Ipv4L3Protocol> ip = nodes.Get(at)->GetObject<Ipv4L3Protocol>();
        if (watch) {
            watches[at] = {DynamicCast<aodv::RoutingProtocol>(ip->GetRoutingProtocol()), ends};
            Simulator::Schedule(MicroSeconds(1), &Watch::All, &watches[at]);
            DynamicCast<WifiNetDevice>(devices.Get(at))
                ->GetMac()
                ->TraceConnectWithoutContext("DroppedMpdu", MakeCallback(&Watch::Failed, &watches[at]));
        }
        ip->TraceConnectWithoutContext("Tx", MakeCallback(&Counts::Sent, &counts));
        ip->TraceConnectWithoutContext("LocalDeliver", MakeCallback(&Counts::Arrived, &counts));
    }
    uint16_t port = FIRST_PORT;
    for (const Flow& flow : Flows(flowText)) {
        Ptr<Socket> sink = Socket::CreateSocket(nodes.Get(flow.destination), UdpSocketFactory::GetTypeId());
        sink->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
        sink->SetRecvCallback(MakeCallback(&Counts::Got, &counts));
        Ptr<Socket> source = Socket::CreateSocket(nodes.Get(flow.source), UdpSocketFactory::GetTypeId());
        source->Bind();
        const InetSocketAddress to(ends.GetAddress(flow.destination), port);
        Simulator::Schedule(Seconds(flow.start), &Send, source, flow, to, Seconds(1 / rate), &counts);
        port += 1;
    }

    Simulator::Stop(Seconds(time));
    Simulator::Run();
    counts.Alive();
    std::cout << "sent " << counts.sent << "\ndelivered " << counts.delivered << "\nrouting-packets "
              << counts.packets << "\nrouting-octets " << counts.octets << "\nhops " << counts.hops
              << "\nsilence-ms " << 1e3 * counts.gap << std::endl;
    Simulator::Destroy();
}
