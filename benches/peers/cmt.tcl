# One bulk transfer over several paths with the CMT agent of ns-2 (Agent/SCTP/CMT).
#
#   ns cmt.tcl key value ...
#
#   path "rate_bps rtt_ms queue_packets loss"   one per path, in the order the rotation visits them
#   receive_buffer BYTES   unordered 0|1        1: buffered out-of-order data is not charged to the window
#   duration SECONDS       ack_every 1|2        2: delayed SACKs (every second packet or after 200 ms)
#   chunk BYTES            seed N               chunk: SCTP chunk with its header, a multiple of 4
#   trace 0|1                                   1: trace of the forward links on standard output
#   set "parameter value"                       any other parameter of the agent, at both ends; it must exist
#
# A path is one link each way. Its queue holds queue_packets, the one being sent included; the way back never
# drops. Losses strike what goes forward, after the queue. The last line of the output is
# "done WALL_SECONDS FORWARD_PACKETS": the time spent in the event loop alone. Without a trace a monitor at
# the head of each link counts the forward packets; with one they are 0.

set paths {}
set parameters {}
array set option {
    receive_buffer 65536 unordered 1 duration 100 ack_every 1 chunk 1468 seed 1 trace 0
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
if {[llength $paths] == 0} {
    puts stderr "no path given: path \"rate_bps rtt_ms queue_packets loss\""
    exit 2
}

set network [new Simulator]
$defaultRNG seed $option(seed)
Trace set show_sctphdr_ 1

set sender_core [$network node]
set receiver_core [$network node]
set forward_links {}
set receiver_interfaces {}
foreach path $paths {
    lassign $path rate rtt queue loss
    set near [$network node]
    set far [$network node]
    $network multihome-add-interface $sender_core $near
    $network multihome-add-interface $receiver_core $far
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
    lappend forward_links [list $near $far]
    lappend receiver_interfaces $far
}

set sender [new Agent/SCTP/CMT]
set receiver [new Agent/SCTP/CMT]
foreach agent [list $sender $receiver] {
    $agent set dataChunkSize_ $option(chunk)
    $agent set mtu_ [expr {$option(chunk) + 32}]
    $agent set unordered_ $option(unordered)
    $agent set initialRwnd_ $option(receive_buffer)
    $agent set useDelayedSacks_ [expr {$option(ack_every) > 1}]
    $agent set useCmtPF_ 0
    foreach parameter $parameters {
        lassign $parameter name setting
        $agent set $name
        $agent set $name $setting
    }
}
$network multihome-attach-agent $sender_core $sender
$network multihome-attach-agent $receiver_core $receiver
$network connect $sender $receiver
$sender set-primary-destination [lindex $receiver_interfaces 0]
set source [new Application/FTP]
$source attach-agent $sender

set monitors {}
foreach ends $forward_links {
    lassign $ends near far
    if {$option(trace)} {
        $network trace-queue $near $far stdout
        [[$network link $near $far] set deqT_] detach
    } else {
        set monitor [new QueueMonitor]
        set counter [new SnoopQueue/In]
        $counter set-monitor $monitor
        [$network link $near $far] add-to-head $counter
        lappend monitors $monitor
    }
}

proc finish {} {
    global started monitors
    set wall [expr {([clock microseconds] - $started) / 1e6}]
    set packets 0
    foreach monitor $monitors {
        incr packets [$monitor set parrivals_]
    }
    puts "done $wall $packets"
    flush stdout
    exit 0
}

$network at 0.0 "$source start"
$network at $option(duration) finish
set started [clock microseconds]
$network run
