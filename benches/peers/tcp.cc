// TCP flows over one link in ns-3: bulk transfers or files, all from the same node to the same other one.
//
//   ns3 key value ...
//
//   rate BITS_PER_SECOND  rtt MILLISECONDS   queue PACKETS   loss SHARE     the link
//   packet BYTES          header BYTES       on the wire, headers included; of these, headers
//   buffer BYTES                             of the sender; the receiver's is as large as can be
//   duration SECONDS      ack_every 1|2      2: delayed ACKs (every second packet or after 200 ms)
//   flow "START_SECONDS BYTES"               one for each; BYTES 0: without end
//   type TYPE             TcpNewReno, TcpCubic, TcpBbr, RfcReno, RfcCubic or AckBbr (all below), ...
//   set "ns3::Type::Attribute value"         any attribute's default; it must exist
//   seed N                trace 0|1          1: what enters the link and what arrives, on standard output
//
// A line of the trace is "+|r SECONDS FLOW FIRST_BYTE PACKET": a data packet enters the queue or arrives. The last
// line is "done WALL_SECONDS FORWARD_PACKETS": the time in the event loop alone.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

namespace {

const uint16_t FIRST_PORT = 5000;
// PointToPointNetDevice puts two bytes of PPP before every packet.
const double PPP_BYTES = 2;

// NewReno without two habits of ns-3's, each of which can be taken away by itself.
class RfcReno : public TcpNewReno
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId type = TypeId("ns3::RfcReno")
                                 .SetParent<TcpNewReno>()
                                 .AddConstructor<RfcReno>()
                                 .AddAttribute("HalvesFlight",
                                               "A loss halves FlightSize (RFC 5681), not the estimate of the pipe",
                                               BooleanValue(true),
                                               MakeBooleanAccessor(&RfcReno::m_halvesFlight),
                                               MakeBooleanChecker())
                                 .AddAttribute("CountsBytes",
                                               "Growth by acknowledged bytes (RFC 3465), not per acknowledgement",
                                               BooleanValue(false),
                                               MakeBooleanAccessor(&RfcReno::m_countsBytes),
                                               MakeBooleanChecker());
        return type;
    }

    void IncreaseWindow(Ptr<TcpSocketState> tcb, uint32_t segmentsAcked) override
    {
        if (!m_countsBytes)
        {
            TcpNewReno::IncreaseWindow(tcb, segmentsAcked);
            return;
        }
        // More than two segments are acknowledged at once at the end of a recovery, whose SACKs came before.
        const uint32_t bytes = std::min(segmentsAcked, 2U) * tcb->m_segmentSize;
        if (tcb->m_cWnd < tcb->m_ssThresh)
        {
            tcb->m_cWnd += bytes;
            return;
        }
        m_acknowledged += bytes;
        if (m_acknowledged >= tcb->m_cWnd)
        {
            m_acknowledged -= tcb->m_cWnd;
            tcb->m_cWnd += tcb->m_segmentSize;
        }
    }

    uint32_t GetSsThresh(Ptr<const TcpSocketState> tcb, uint32_t pipe) override
    {
        m_acknowledged = 0;
        if (!m_halvesFlight)
        {
            return TcpNewReno::GetSsThresh(tcb, pipe);
        }
        // Without what limited transmit sent beyond the window.
        const uint32_t flight = tcb->m_highTxMark.Get() - tcb->m_lastAckedSeq;
        return std::max(2 * tcb->m_segmentSize, std::min(flight, tcb->m_cWnd.Get()) / 2);
    }

    Ptr<TcpCongestionOps> Fork() override
    {
        return CopyObject<RfcReno>(this);
    }

    std::string GetName() const override
    {
        return "RfcReno";
    }

  private:
    bool m_halvesFlight{true};
    bool m_countsBytes{false};
    uint32_t m_acknowledged{0};
};

NS_OBJECT_ENSURE_REGISTERED(RfcReno);

// CUBIC as RFC 9438 has it: in real numbers, and with the region of §4.3 where Reno is faster, which ns-3.37 lacks.
class RfcCubic : public TcpCongestionOps
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId type = TypeId("ns3::RfcCubic").SetParent<TcpCongestionOps>().AddConstructor<RfcCubic>();
        return type;
    }

    void IncreaseWindow(Ptr<TcpSocketState> tcb, uint32_t segmentsAcked) override
    {
        const double segments = std::min(segmentsAcked, 2U);
        if (tcb->m_cWnd < tcb->m_ssThresh)
        {
            tcb->m_cWnd += uint32_t(segments) * tcb->m_segmentSize;
            return;
        }
        const double now = Simulator::Now().GetSeconds();
        if (!m_inEpoch)
        {
            m_inEpoch = true;
            m_start = now;
            m_window = double(tcb->m_cWnd) / tcb->m_segmentSize;
            m_estimate = m_window;
            m_maximum = std::max(m_maximum, m_window);
            m_climb = std::cbrt((m_maximum - m_window) / C);
        }
        m_estimate += (m_estimate >= m_prior ? 1 : 3 * (1 - BETA) / (1 + BETA)) * segments / m_window;
        if (Cubic(now - m_start) < m_estimate)
        {
            m_window = std::max(m_window, m_estimate);
        }
        else
        {
            const double target = Cubic(now - m_start + tcb->m_lastRtt.Get().GetSeconds());
            m_window += segments * (std::clamp(target, m_window, 1.5 * m_window) - m_window) / m_window;
        }
        tcb->m_cWnd = std::max(tcb->m_cWnd.Get(), uint32_t(m_window * tcb->m_segmentSize));
    }

    uint32_t GetSsThresh(Ptr<const TcpSocketState> tcb, uint32_t) override
    {
        m_prior = double(tcb->m_cWnd) / tcb->m_segmentSize;
        m_maximum = m_prior < m_maximum ? m_prior * (1 + BETA) / 2 : m_prior;
        m_inEpoch = false;
        const uint32_t flight = tcb->m_highTxMark.Get() - tcb->m_lastAckedSeq;
        return std::max(2 * tcb->m_segmentSize, uint32_t(BETA * std::min(flight, tcb->m_cWnd.Get())));
    }

    void CongestionStateSet(Ptr<TcpSocketState>, const TcpSocketState::TcpCongState_t state) override
    {
        if (state == TcpSocketState::CA_LOSS)
        {
            // §4.8: the avoidance after a timeout begins flat.
            m_maximum = 0;
        }
    }

    Ptr<TcpCongestionOps> Fork() override
    {
        return CopyObject<RfcCubic>(this);
    }

    std::string GetName() const override
    {
        return "RfcCubic";
    }

  private:
    static constexpr double C = 0.4;
    static constexpr double BETA = 0.7;

    double Cubic(double seconds) const
    {
        return C * std::pow(seconds - m_climb, 3) + m_maximum;
    }

    bool m_inEpoch{false};
    double m_start{0};
    double m_climb{0};
    // In segments.
    double m_maximum{0};
    double m_prior{0};
    double m_estimate{0};
    double m_window{0};
};

NS_OBJECT_ENSURE_REGISTERED(RfcCubic);

// BBR with Linux' samples of the delivery rate, where the phase of sending does not count. Linux takes the sample of the
// packet that was sent last. ns-3 keeps the sample of the first of the packets that left between two acknowledgements.
class AckBbr : public TcpBbr
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId type = TypeId("ns3::AckBbr").SetParent<TcpBbr>().AddConstructor<AckBbr>();
        return type;
    }

    void CongControl(Ptr<TcpSocketState> tcb,
                     const TcpRateOps::TcpRateConnection& connection,
                     const TcpRateOps::TcpRateSample& sample) override
    {
        TcpRateOps::TcpRateSample taken = sample;
        if (sample.m_ackedSacked > 0 && !sample.m_priorTime.IsZero())
        {
            taken.m_interval = Simulator::Now() - sample.m_priorTime;
            const double bits = sample.m_delivered * 8.0;
            const bool valid = taken.m_interval >= tcb->m_minRtt;
            taken.m_deliveryRate = DataRate(valid ? bits / taken.m_interval.GetSeconds() : 0);
        }
        TcpBbr::CongControl(tcb, connection, taken);
    }

    Ptr<TcpCongestionOps> Fork() override
    {
        return CopyObject<AckBbr>(this);
    }

    std::string GetName() const override
    {
        return "AckBbr";
    }
};

NS_OBJECT_ENSURE_REGISTERED(AckBbr);

// Random losses that may spare retransmissions: ns-3 waits for a timeout if a retransmission is lost.
class Losses : public ErrorModel
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId type = TypeId("ns3::Losses")
                                 .SetParent<ErrorModel>()
                                 .AddConstructor<Losses>()
                                 .AddAttribute("Spare",
                                               "No retransmission is lost",
                                               BooleanValue(false),
                                               MakeBooleanAccessor(&Losses::m_spare),
                                               MakeBooleanChecker());
        return type;
    }

    void Set(Ptr<RateErrorModel> model)
    {
        m_model = model;
    }

  private:
    bool DoCorrupt(Ptr<Packet> packet) override
    {
        return !(m_spare && IsAgain(packet)) && m_model->IsCorrupt(packet);
    }

    void DoReset() override
    {
        m_ends.clear();
    }

    bool IsAgain(Ptr<const Packet> packet)
    {
        Ptr<Packet> copy = packet->Copy();
        PppHeader link;
        Ipv4Header ip;
        TcpHeader tcp;
        copy->RemoveHeader(link);
        copy->RemoveHeader(ip);
        copy->RemoveHeader(tcp);
        const uint32_t first = tcp.GetSequenceNumber().GetValue();
        uint32_t& end = m_ends[tcp.GetDestinationPort()];
        const bool again = first < end;
        end = std::max(end, first + copy->GetSize());
        return again;
    }

    Ptr<RateErrorModel> m_model;
    bool m_spare{false};
    // The end of the data so far, of each flow.
    std::map<uint16_t, uint32_t> m_ends;
};

NS_OBJECT_ENSURE_REGISTERED(Losses);

uint64_t forwardPackets = 0;

void count(Ptr<const Packet>, Ptr<Ipv4>, uint32_t)
{
    ++forwardPackets;
}

void trace(char kind, Ptr<const Packet> packet)
{
    Ptr<Packet> copy = packet->Copy();
    Ipv4Header ip;
    TcpHeader tcp;
    copy->RemoveHeader(ip);
    copy->RemoveHeader(tcp);
    if (copy->GetSize() > 0)
    {
        // The handshake takes the first number.
        std::printf("%c %.9f %u %u %u\n", kind, Simulator::Now().GetSeconds(), tcp.GetDestinationPort() - FIRST_PORT,
                    tcp.GetSequenceNumber().GetValue() - 1, ip.GetIdentification());
    }
}

void enter(Ptr<const Packet> packet, Ptr<Ipv4>, uint32_t)
{
    trace('+', packet);
}

void arrive(Ptr<const Packet> packet, Ptr<Ipv4>, uint32_t)
{
    trace('r', packet);
}

} // namespace

int main(int argc, char** argv)
{
    std::map<std::string, std::string> option{
        {"rate", ""}, {"rtt", ""},         {"queue", ""},     {"loss", "0"}, {"packet", "1500"}, {"header", "52"},
        {"buffer", ""}, {"duration", "100"}, {"ack_every", "1"}, {"type", ""},  {"seed", "1"},      {"trace", "0"}};
    std::vector<std::string> flows;
    std::vector<std::string> attributes;
    for (int at = 1; at + 1 < argc; at += 2)
    {
        const std::string key = argv[at];
        if (key == "flow")
        {
            flows.push_back(argv[at + 1]);
        }
        else if (key == "set")
        {
            attributes.push_back(argv[at + 1]);
        }
        else if (option.count(key))
        {
            option[key] = argv[at + 1];
        }
        else
        {
            std::fprintf(stderr, "unknown option %s\n", key.c_str());
            return 2;
        }
    }
    for (const auto& [key, value] : option)
    {
        if (value.empty())
        {
            std::fprintf(stderr, "no value for %s\n", key.c_str());
            return 2;
        }
    }
    const double packet = std::stod(option["packet"]);
    // Streams of neighbouring seeds resemble each other; those of runs are independent.
    RngSeedManager::SetRun(std::stoul(option["seed"]));

    const auto set = [](const std::string& name, const std::string& value) {
        Config::SetDefault(name, StringValue(value));
    };
    set("ns3::TcpL4Protocol::SocketType", "ns3::" + option["type"]);
    set("ns3::TcpSocket::SegmentSize", std::to_string(int(packet) - std::stoi(option["header"])));
    set("ns3::TcpSocket::InitialCwnd", "10");
    set("ns3::TcpSocket::SndBufSize", option["buffer"]);
    // A window that is full to the last byte ends ns-3.37 (NextSeg in tcp-tx-buffer.cc returns a segment of no bytes).
    set("ns3::TcpSocket::RcvBufSize", "1000000000");
    set("ns3::TcpSocket::DelAckCount", option["ack_every"]);
    set("ns3::TcpSocket::DelAckTimeout", "200ms");
    // A connection that lost six packets in a row would end.
    set("ns3::TcpSocket::DataRetries", "1000");
    for (const std::string& attribute : attributes)
    {
        std::istringstream words(attribute);
        std::string name;
        std::string value;
        words >> name >> value;
        set(name, value);
    }

    NodeContainer nodes(2);
    PointToPointHelper link;
    // Without flow control the device has no queue but its own drop-tail one.
    link.DisableFlowControl();
    std::ostringstream rate;
    rate << uint64_t(std::stod(option["rate"]) * (packet + PPP_BYTES) / packet + 0.5) << "bps";
    link.SetDeviceAttribute("DataRate", StringValue(rate.str()));
    link.SetChannelAttribute("Delay", TimeValue(NanoSeconds(std::stod(option["rtt"]) * 1e6 / 2)));
    NetDeviceContainer devices = link.Install(nodes);
    InternetStackHelper().Install(nodes);
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
    // The packet that is being sent is not in the device's queue.
    const auto limit = [&](uint32_t index, const std::string& packets) {
        Ptr<Queue<Packet>> queue = devices.Get(index)->GetObject<PointToPointNetDevice>()->GetQueue();
        queue->SetMaxSize(QueueSize(packets + "p"));
    };
    limit(0, std::to_string(std::stoi(option["queue"]) - 1));
    limit(1, "1000000");
    if (std::stod(option["loss"]) > 0)
    {
        Ptr<RateErrorModel> eraser = CreateObject<RateErrorModel>();
        eraser->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
        eraser->SetRate(std::stod(option["loss"]));
        Ptr<Losses> losses = CreateObject<Losses>();
        losses->Set(eraser);
        devices.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(losses));
    }

    uint16_t port = FIRST_PORT;
    for (const std::string& flow : flows)
    {
        std::istringstream words(flow);
        double start = 0;
        uint64_t bytes = 0;
        words >> start >> bytes;
        const InetSocketAddress far(interfaces.GetAddress(1), port++);
        PacketSinkHelper("ns3::TcpSocketFactory", far).Install(nodes.Get(1)).Start(Seconds(0));
        BulkSendHelper sender("ns3::TcpSocketFactory", far);
        sender.SetAttribute("MaxBytes", UintegerValue(bytes));
        sender.SetAttribute("SendSize", UintegerValue(int(packet) - std::stoi(option["header"])));
        sender.Install(nodes.Get(0)).Start(Seconds(start));
    }

    Ptr<Ipv4L3Protocol> near = nodes.Get(0)->GetObject<Ipv4L3Protocol>();
    near->TraceConnectWithoutContext("Tx", MakeCallback(&count));
    if (option["trace"] == "1")
    {
        near->TraceConnectWithoutContext("Tx", MakeCallback(&enter));
        nodes.Get(1)->GetObject<Ipv4L3Protocol>()->TraceConnectWithoutContext("Rx", MakeCallback(&arrive));
    }

    Simulator::Stop(Seconds(std::stod(option["duration"])));
    const auto begin = std::chrono::steady_clock::now();
    Simulator::Run();
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    std::printf("done %.6f %llu\n", wall.count(), (unsigned long long)forwardPackets);
    Simulator::Destroy();
    return 0;
}
