// Several uncoupled TCP subflows of one connection in csg-htsim, one per path: what each delivers, and how long that takes.
//
//     driver SECONDS PACKET_BYTES QUEUE_PACKETS SSTHRESH_BYTES RATE_MBIT RTT_MS [RATE_MBIT RTT_MS ...]
//
// A line per path, `packets delivered drops`, then the seconds that the event loop took.

#include "config.h"
#include "eventlist.h"
#include "mtcp.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "tcp.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char** argv) {
    if (argc < 7 || argc % 2 == 0) {
        fprintf(stderr, "usage: %s SECONDS PACKET_BYTES QUEUE_PACKETS SSTHRESH_BYTES RATE_MBIT RTT_MS [...]\n", argv[0]);
        return 2;
    }
    const double seconds = atof(argv[1]);
    const int packet = atoi(argv[2]);
    const int queue = atoi(argv[3]);
    const long threshold = atol(argv[4]);

    Packet::set_packet_size(packet);
    EventList events;
    events.setEndtime(timeFromSec(seconds));
    // Its connection writes for ever, and its receiver has room for everything.
    MultipathTcpSrc connection(UNCOUPLED, events, NULL, 0x7fffffff);
    MultipathTcpSink receiver(events);
    TcpRtxTimerScanner timers(timeFromMs(10), events);

    std::vector<TcpSrc*> senders;
    std::vector<TcpSink*> sinks;
    for (int at = 5; at + 1 < argc; at += 2) {
        const double rate = atof(argv[at]), round_trip = atof(argv[at + 1]);
        // Both directions have the rate, as here.
        Queue* forward = new Queue(speedFromMbps(rate), memFromPkt(queue), events, NULL);
        Queue* backward = new Queue(speedFromMbps(rate), memFromPkt(queue), events, NULL);
        Pipe* there = new Pipe(timeFromMs(round_trip / 2), events);
        Pipe* back = new Pipe(timeFromMs(round_trip / 2), events);
        TcpSrc* sender = new TcpSrc(NULL, NULL, events);
        TcpSink* sink = new TcpSink();
        sender->_maxcwnd = 0x3fffffff;
        sender->_ssthresh = threshold;
        timers.registerTcp(*sender);
        route_t* out = new route_t();
        out->push_back(forward);
        out->push_back(there);
        out->push_back(sink);
        route_t* in = new route_t();
        in->push_back(backward);
        in->push_back(back);
        in->push_back(sender);
        connection.addSubflow(sender);
        receiver.addSubflow(sink);
        sender->connect(*out, *in, *sink, 0);
        senders.push_back(sender);
        sinks.push_back(sink);
    }
    connection.connect(&receiver);

    const auto begin = std::chrono::steady_clock::now();
    while (events.doNextEvent()) {
    }
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    for (size_t i = 0; i < senders.size(); i++) {
        printf("%llu %d\n", (unsigned long long)(sinks[i]->cumulative_ack() / packet), senders[i]->_drops);
    }
    printf("%.6f\n", wall.count());
    return 0;
}
