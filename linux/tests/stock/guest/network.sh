# Two network namespaces, client and server, with two links between them. To be sourced.
#
# The server has one address, 10.9.9.9, over both links; the client has 10.0.1.1 and 10.0.2.1.

# BusyBox's shell prefers its own programs, which know neither namespaces nor netem.
ip() { /bin/ip "$@"; }
tc() { /bin/tc "$@"; }
client() { ip netns exec client "$@"; }
server() { ip netns exec server "$@"; }

# lossy LINK END RATE DELAY LOSS: rate, delay and loss in the direction from an end, client or server.
lossy() {
	case $2 in
	client) device=c$1 ;;
	server) device=s$1 ;;
	esac
	# Without its links a case would pass for the wrong reason.
	"$2" tc qdisc replace dev "$device" root netem limit 200 rate "$3" delay "$4" loss "$5" || poweroff -f
}

# shape LINK RATE DELAY [LOSS]: the same in both directions.
shape() {
	lossy "$1" client "$2" "$3" "${4:-0%}"
	lossy "$1" server "$2" "$3" "${4:-0%}"
}

network() {
	# A kernel that has them built in has no such modules.
	for module in veth sch_netem inet_diag tcp_diag mptcp_diag; do
		[ ! -e "/modules/$module.ko" ] || insmod "/modules/$module.ko"
	done
	ip netns add client
	ip netns add server
	ip -n client link set lo up
	ip -n server link set lo up
	ip -n server addr add 10.9.9.9/32 dev lo
	for link in 1 2; do
		ip link add "c$link" netns client type veth peer name "s$link" netns server
		ip -n client addr add "10.0.$link.1/24" dev "c$link"
		ip -n server addr add "10.0.$link.2/24" dev "s$link"
		ip -n client link set "c$link" up
		ip -n server link set "s$link" up
		ip -n client rule add from "10.0.$link.1" table "$link"
		ip -n client route add default via "10.0.$link.2" dev "c$link" table "$link"
	done
	ip -n client route add 10.9.9.9 via 10.0.1.2
	client ip mptcp limits set subflow 4 add_addr_accepted 4
	server ip mptcp limits set subflow 4
	client ip mptcp endpoint add 10.0.2.1 dev c2 id 2 subflow
	shape 1 40mbit 5ms
	shape 2 20mbit 20ms
}
