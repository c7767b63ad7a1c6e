# One bulk transfer over one path with a one-way TCP agent of ns-2.
#
#   ns tcp.tcl key value ...
#
#   path "rate_bps rtt_ms queue_packets loss"   the path
#   agent Sack1|Newreno|Linux                   the sender: Agent/TCP/...
#   packet BYTES   header BYTES                 on the wire, headers included; of these, headers
#   initial_window PACKETS                      at the start
#   duration SECONDS       ack_every 1|2        2: delayed ACKs (every second packet or after 200 ms)
#   seed N                 trace 0|1            1: trace of the forward link on standard output
#   set "parameter value"                       any other parameter of the sender; it must exist
#
# A path is one link each way. Its queue holds queue_packets, the one being sent included; the way back never
# drops. Losses strike what goes forward, after the queue. The last line of the output is
# "done WALL_SECONDS FORWARD_PACKETS": the time spent in the event loop alone. Without a trace a monitor at
# the head of the link counts the forward packets; with one they are 0.

set paths {}
set parameters {}
array set option {
    agent Sack1 packet 1500 header 52 initial_window 10 duration 100 ack_every 1 seed 1 trace 0
}
foreach {key value} $argv {
    if {$key eq "path"} {
        lappend paths $value
    } elseif {$key eq "set"} {
        lappend parameters $value
    } elseif {[info exists option($key)]} {
        set option($key) $value
    } else {
        puts stderr "unknown option $key: expected path, set, [join [lsort [array names option]] {, }]"
        exit 2
    }
}
if {[llength $paths] != 1} {
    puts stderr "expected one path: path \"rate_bps rtt_ms queue_packets loss\""
    exit 2
}

set network [new Simulator]
$defaultRNG seed $option(seed)

set near [$network node]
set far [$network node]
lassign [lindex $paths 0] rate rtt queue loss
$network duplex-link $near $far $rate [expr {$rtt / 2000.0}] DropTail
$network queue-limit $near $far $queue
$network queue-limit $far $near 1000000
if {$loss > 0} {
    set coin [new RandomVariable/Uniform]
    $coin use-rng [new RNG]
    set eraser [new ErrorModel]
    $eraser unit pkt
    $eraser set rate_ $loss
    $eraser ranvar $coin
    $network link-lossmodel $eraser $near $far
}

set sender [new Agent/TCP/$option(agent)]
set selective [expr {$option(agent) eq "Newreno" ? "" : "/Sack1"}]
set receiver [new Agent/TCPSink$selective[expr {$option(ack_every) > 1 ? "/DelAck" : ""}]]
if {$option(ack_every) > 1} {
    $receiver set interval_ 200ms
}
$receiver set packetSize_ $option(header)
foreach {name setting} [list \
    packetSize_ [expr {$option(packet) - $option(header)}] tcpip_base_hdr_size_ [expr {$option(header) - 10}] \
    windowInit_ $option(initial_window) window_ 1000000 \
    timestamps_ true tcpTick_ 0.001 minrto_ 1 rtxcur_init_ 1 \
] {
    $sender set $name $setting
}
$receiver set ts_echo_rfc1323_ true
foreach parameter $parameters {
    lassign $parameter name setting
    $sender set $name
    $sender set $name $setting
}
$network attach-agent $near $sender
$network attach-agent $far $receiver
$network connect $sender $receiver
set source [new Application/FTP]
$source attach-agent $sender

set monitor ""
if {$option(trace)} {
    $network trace-queue $near $far stdout
    [[$network link $near $far] set deqT_] detach
} else {
    set monitor [new QueueMonitor]
    set counter [new SnoopQueue/In]
    $counter set-monitor $monitor
    [$network link $near $far] add-to-head $counter
}

proc finish {} {
    global started monitor
    set wall [expr {([clock microseconds] - $started) / 1e6}]
    puts "done $wall [expr {$monitor eq {} ? 0 : [$monitor set parrivals_]}]"
    flush stdout
    exit 0
}

$network at 0.0 "$source start"
$network at $option(duration) finish
set started [clock microseconds]
$network run
