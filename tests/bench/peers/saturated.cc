// SPDX-License-Identifier: Apache-2.0
// The twin of the bench's grids in ns-3: ad hoc stations 200 m apart, DSSS at 2 Mbit/s, two-ray, static
// routes, a CUBIC transfer along each row. Near enough to compare speed, not calibrated for goodput:
// receiver sensitivity and carrier sense are thresholds, and TCP is ns-3's own.
//
//   saturated --rows=5 --cols=6 --dur=60       prints the wall time of the simulation in s
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/propagation-module.h"
#include "ns3/wifi-module.h"

#include <chrono>
#include <iostream>

using namespace ns3;

int main(int argc, char **argv) {
    int rows = 1, cols = 3;
    double dur = 60;
    CommandLine cmd;
    cmd.AddValue("rows", "rows of stations", rows);
    cmd.AddValue("cols", "stations in a row", cols);
    cmd.AddValue("dur", "virtual seconds", dur);
    cmd.Parse(argc, argv);

    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1460));
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpCubic"));
    NodeContainer nodes;
    nodes.Create(rows * cols);
    MobilityHelper mobility;
    mobility.SetPositionAllocator("ns3::GridPositionAllocator", "MinX", DoubleValue(0), "MinY",
                                  DoubleValue(0), "DeltaX", DoubleValue(200), "DeltaY",
                                  DoubleValue(200), "GridWidth", UintegerValue(cols), "LayoutType",
                                  StringValue("RowFirst"));
    mobility.Install(nodes);

    YansWifiChannelHelper channel;
    channel.SetPropagationDelay("ns3::ConstantSpeedPropagationDelayModel");
    channel.AddPropagationLoss("ns3::TwoRayGroundPropagationLossModel", "Frequency",
                               DoubleValue(914e6), "HeightAboveZ", DoubleValue(1.5));
    YansWifiPhyHelper phy;
    phy.SetChannel(channel.Create());
    phy.Set("TxPowerStart", DoubleValue(24.5));
    phy.Set("TxPowerEnd", DoubleValue(24.5));
    phy.Set("RxSensitivity", DoubleValue(-64.4));
    phy.Set("CcaEdThreshold", DoubleValue(-78));
    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211b);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager", "DataMode",
                                 StringValue("DsssRate2Mbps"), "ControlMode",
                                 StringValue("DsssRate2Mbps"));
    WifiMacHelper mac;
    mac.SetType("ns3::AdhocWifiMac");
    NetDeviceContainer devices = wifi.Install(phy, mac, nodes);

    InternetStackHelper stack;
    Ipv4StaticRoutingHelper routing;
    stack.SetRoutingHelper(routing);
    stack.Install(nodes);
    Ipv4AddressHelper addresses;
    addresses.SetBase("10.0.0.0", "255.255.0.0");
    Ipv4InterfaceContainer ends = addresses.Assign(devices);
    ApplicationContainer sinks;
    for (int row = 0; row < rows; row++) {
        const int first = row * cols, last = first + cols - 1;
        for (int from = first; from <= last; from++) {
            auto table = routing.GetStaticRouting(nodes.Get(from)->GetObject<Ipv4>());
            for (int to = first; to <= last; to++) {
                if (std::abs(from - to) > 1) {
                    const int hop = to > from ? from + 1 : from - 1;
                    table->AddHostRouteTo(ends.GetAddress(to), ends.GetAddress(hop), 1);
                }
            }
        }
        BulkSendHelper sender("ns3::TcpSocketFactory", InetSocketAddress(ends.GetAddress(last), 5000));
        sender.SetAttribute("MaxBytes", UintegerValue(0));
        sender.Install(nodes.Get(first)).Start(Seconds(0.1));
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5000));
        sinks.Add(sink.Install(nodes.Get(last)));
    }
    sinks.Start(Seconds(0));
    Simulator::Stop(Seconds(dur));
    const auto begin = std::chrono::steady_clock::now();
    Simulator::Run();
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    std::cout << wall.count() << std::endl;
    Simulator::Destroy();
}
