# The cases. The host gives MODULE (may be empty), CASES and RELOADS in /test/settings.
#
# The second serial port carries the results: `LOG text` for each new line of the kernel's log, then
# one line of JSON for the case. The host knows which lines of the log are expected.

. ./settings
. ./network.sh
FILE=/tmp/data
if [ -z "$INSIDE" ]; then
	network
	head -c 50000000 /dev/urandom > $FILE
	server transfer serve 5000 /bin/transfer compare $FILE &
	server transfer serve-tcp 5001 /bin/transfer compare $FILE &
	# The rest is in the client's namespace. `ip netns exec` would hide debugfs.
	INSIDE=1 exec nsenter --net=/run/netns/client sh ./cases.sh
fi
exec 3> /dev/ttyS1
client() { "$@"; }

uptime() { cut -d' ' -f1 /proc/uptime; }
available() { cat /proc/sys/net/mptcp/available_schedulers; }
use() { echo "$1" > /proc/sys/net/mptcp/scheduler; }

# report CASE SCHEDULER OK [FIELDS]: FIELDS is the inside of a JSON object.
report() {
	dmesg -c | sed 's/^/LOG /' >&3
	echo "{\"case\": \"$1\", \"scheduler\": \"$2\", \"ok\": $3, \"began\": $BEGAN, \"ended\": $(uptime)${4:+, $4}}" >&3
	BEGAN=$(uptime)
	echo "$1 $2" > /tmp/progress
}

# A case that stands still ends the guest. The console gets its processes and their kernel stacks first.
watch() {
	echo start > /tmp/progress
	while sleep 10; do
		[ $(($(date +%s) - $(stat -c %Y /tmp/progress))) -gt "$LIMIT" ] || continue
		{
			echo "no result for $LIMIT s after: $(cat /tmp/progress)"
			ps -o pid,stat,args | grep -v '\[.*\]'
			for process in /proc/[0-9]*; do
				[ -z "$(cat "$process/cmdline")" ] || { echo "$process"; cat "$process/stack"; }
			done
		} > /dev/ttyS0 2>&1
		poweroff -f
	done
}

# transfer BYTES [CONNECTIONS [AT_ONCE]]: over MPTCP. Prints facts; fails if a file is not right.
transfer() { /bin/transfer send 10.9.9.9 "${PORT:-5000}" $FILE "$1" "same $1" "${2:-1}" "${3:-1}"; }

load() { [ -z "$MODULE" ] || insmod "./$MODULE.ko"; }

# Connections may hold the module for a while. Each refusal counts.
unload() {
	refusals=0
	[ -n "$MODULE" ] || return 0
	livepatch=/sys/kernel/livepatch/$MODULE
	[ ! -e "$livepatch/enabled" ] || echo 0 > "$livepatch/enabled"
	until rmmod "$MODULE" 2> /tmp/rmmod; do
		refusals=$((refusals + 1))
		[ $refusals -lt 600 ] || return 1
		sleep 0.1
	done
}

case_load() {
	before=$(available)
	ok=true
	load || ok=false
	NAMES=$(available)
	[ -z "$MODULE" ] || [ "$NAMES" != "$before" ] || ok=false
	report load "" $ok "\"available\": \"$NAMES\", \"release\": \"$(uname -r)\", \"cpus\": $(nproc)"
}

# The calls that the Rust tests recorded get equal answers, decision by decision.
case_replay() {
	replay=/sys/module/$MODULE/parameters/replay
	if [ -z "$MODULE" ] || [ ! -e ./calls ] || [ ! -e "$replay" ]; then
		report replay "" null '"reason": "no calls are recorded, or the module cannot replay them"'
		return
	fi
	ok=true
	/bin/transfer feed ./calls "$replay" || ok=false
	report replay "" $ok "\"answers\": \"$(tr '\n"' ' _' < "$replay")\""
}

# 100 files of 10 kB to 50 MB with each scheduler.
case_transfers() {
	for name in $NAMES; do
		use "$name"
		ok=true
		facts=
		for files in $TRANSFERS; do
			# BYTES:CONNECTIONS:AT_ONCE
			set -- $(echo "$files" | tr : ' ')
			fact=$(transfer "$1" "$2" "$3") || ok=false
			facts="$facts${facts:+, }${fact:-null}"
		done
		report transfers "$name" $ok "\"transfers\": [$facts]"
	done
}

# Losses at both links, and failures of each for a second.
case_failures() {
	for name in $NAMES; do
		use "$name"
		shape 1 40mbit 5ms 1%
		shape 2 20mbit 20ms 1%
		(
			sleep 0.5
			shape 1 40mbit 5ms 100%
			sleep 1
			shape 1 40mbit 5ms 1%
			shape 2 20mbit 20ms 100%
			sleep 1
			shape 2 20mbit 20ms 1%
		) &
		ok=true
		fact=$(transfer 5000000 4 2) || ok=false
		wait $!
		report failures "$name" $ok "\"transfers\": [${fact:-null}]"
	done
	shape 1 40mbit 5ms
	shape 2 20mbit 20ms
}

# Subflows vanish and come back: the endpoint is removed, the interface is set down.
case_endpoints() {
	for name in $NAMES; do
		use "$name"
		transfer 10000000 2 2 > /tmp/fact &
		running=$!
		changes=0
		while kill -0 $running 2> /dev/null; do
			ip mptcp endpoint delete id 2
			sleep 0.2
			ip mptcp endpoint add 10.0.2.1 dev c2 id 2 subflow
			sleep 0.4
			ip -n client link set c2 down
			sleep 0.2
			ip -n client link set c2 up
			ip -n client route replace default via 10.0.2.2 dev c2 table 2
			sleep 0.4
			changes=$((changes + 1))
		done
		ok=true
		wait $running || ok=false
		report endpoints "$name" $ok "\"changes\": $changes, \"transfers\": [$(cat /tmp/fact)]"
	done
}

# A server that knows no MPTCP: every connection falls back to TCP.
case_fallback() {
	for name in $NAMES; do
		use "$name"
		ok=true
		fact=$(PORT=5001 transfer 1000000 10 2) || ok=false
		case $fact in
		*'"fallbacks": 10,'*) ;;
		*) ok=false ;;
		esac
		report fallback "$name" $ok "\"transfers\": [${fact:-null}]"
	done
}

# Losses during handshakes: the server falls back when both the third ACK and the first data are lost.
# The client learns of that later, when data waits and the program has shut down.
case_handshakes() {
	# After lost SYNs Linux suspects a firewall and uses TCP alone for an hour.
	blackhole=/proc/sys/net/mptcp/blackhole_timeout
	[ ! -e $blackhole ] || echo 0 > $blackhole
	for name in $NAMES; do
		use "$name"
		lossy 1 client 40mbit 5ms 20%
		ok=true
		fact=$(transfer 50000 "$CONNECTIONS" 16) || ok=false
		case $fact in
		*"\"fallbacks\": $CONNECTIONS,"*) ok=false ;;
		esac
		report handshakes "$name" $ok "\"transfers\": [${fact:-null}]"
	done
	shape 1 40mbit 5ms
}

# Before the first acknowledgement a connection may still fall back, and data that a scheduler holds
# back then is cut off at a shutdown. So all data leaves at once, as far as the server's first window
# allows. The round trip of a second keeps the acknowledgement away.
case_beginning() {
	shape 1 40mbit 500ms
	for name in $NAMES; do
		use "$name"
		ok=true
		waits=$(/bin/transfer begin 10.9.9.9 5000 50000) || ok=false
		[ "$waits" = 0 ] || ok=false
		report beginning "$name" $ok "\"held_back\": ${waits:-null}"
	done
	shape 1 40mbit 5ms
}

# Many short connections at once.
case_connections() {
	for name in $NAMES; do
		use "$name"
		ok=true
		fact=$(transfer 10000 "$CONNECTIONS" 16) || ok=false
		report connections "$name" $ok "\"transfers\": [${fact:-null}]"
	done
}

# Connections begin with any scheduler while others run: the default changes all the time.
case_exchange() {
	touch /tmp/traffic
	(
		changes=0
		while [ -e /tmp/traffic ]; do
			for name in $NAMES; do
				use "$name"
				changes=$((changes + 1))
				sleep 0.02
			done
		done
		echo $changes > /tmp/changes
	) &
	exchanges=$!
	transfer 20000000 2 2 > /tmp/long &
	long=$!
	ok=true
	short=$(transfer 200000 "$CONNECTIONS" 8) || ok=false
	wait $long || ok=false
	rm /tmp/traffic
	wait $exchanges
	report exchange "" $ok "\"changes\": $(cat /tmp/changes), \"transfers\": [$(cat /tmp/long), ${short:-null}]"
}

# The module is loaded and unloaded while connections come and go, with its schedulers and without.
# Every other time the default scheduler is still the module's. Linux then refuses sockets for a moment.
case_reload() {
	[ -n "$MODULE" ] || return
	unload
	touch /tmp/traffic
	(
		rounds=0 bad=0 busy=0
		export MODULE_IS_UNLOADED=1
		while [ -e /tmp/traffic ]; do
			transfer 50000 8 4 > /tmp/fact || bad=$((bad + 1))
			refused=$(sed 's/.*"busy": \([0-9]*\).*/\1/' /tmp/fact)
			busy=$((busy + ${refused:-0}))
			rounds=$((rounds + 1))
		done
		echo "$rounds $bad $busy" > /tmp/rounds
	) &
	traffic=$!
	loads=0 refused=0 ok=true
	while [ $loads -lt "$RELOADS" ]; do
		for name in $NAMES; do
			[ $loads -lt "$RELOADS" ] || break
			load || ok=false
			use "$name"
			sleep 0.1
			# A name that is no longer there means the default scheduler.
			[ $((loads % 2)) = 0 ] || use default
			unload || ok=false
			refused=$((refused + refusals))
			loads=$((loads + 1))
			echo "$loads loads" > /tmp/progress
		done
		[ $ok = true ] || break
	done
	rm /tmp/traffic
	wait $traffic
	read -r rounds bad busy < /tmp/rounds
	[ "$bad" = 0 ] && [ "$(available)" = default ] || ok=false
	use default
	report reload "" $ok "\"loads\": $loads, \"refusals\": $refused, \"connections\": $((rounds * 8)), \"busy_sockets\": $busy, \"bad_rounds\": $bad"
	load
}

# Allocations fail at random. Half of the module's own fail, and all files must still be right. Of
# all others one in a hundred fails: errors are expected, other data is not. The module's start fails
# now and then.
case_memory() {
	fail=/sys/kernel/debug/failslab
	if [ ! -e $fail ]; then
		report memory "" null '"reason": "this kernel cannot let allocations fail"'
		return
	fi
	echo N > $fail/ignore-gfp-wait
	echo 0 > $fail/verbose
	echo -1 > $fail/times
	set -- $(grep "^$MODULE " /proc/modules)
	for name in $NAMES; do
		use "$name"
		ok=true
		if [ -n "$MODULE" ]; then
			printf '0x%x' $(($6)) > $fail/require-start
			printf '0x%x' $(($6 + $2)) > $fail/require-end
			echo 50 > $fail/probability
			own=$(transfer 100000 100 4) || ok=false
			echo 0 > $fail/probability
			printf '0x0' > $fail/require-start
			printf '0xffffffffffffffff' > $fail/require-end
		fi
		# A program that begins now would hardly survive its start.
		transfer 100000 400 4 > /tmp/fact 2> /tmp/errors &
		running=$!
		sleep 1
		echo 1 > $fail/probability
		sleep 3
		until echo 0 > $fail/probability; do :; done 2> /dev/null
		wait $running
		case $(cat /tmp/fact) in
		*'"wrong": 0,'*) ;;
		*) ok=false ;;
		esac
		report memory "$name" $ok "\"transfers\": [${own:-null}, $(cat /tmp/fact)]"
	done
	[ -n "$MODULE" ] || return
	use default
	unload
	loads=0
	for attempt in $(seq 100); do
		insmod "./$MODULE.ko" 2> /tmp/errors &
		echo $((attempt % 5)) > $fail/probability
		wait $!
		until echo 0 > $fail/probability; do :; done 2> /dev/null
		[ ! -e "/sys/module/$MODULE" ] || { loads=$((loads + 1)); unload; }
	done
	ok=true
	[ "$(available)" = default ] || ok=false
	report memory-load "" $ok "\"attempts\": 100, \"loads\": $loads"
	load
}

case_unload() {
	use default
	ok=true
	unload || ok=false
	[ "$(available)" = default ] || ok=false
	fact=$(transfer 1000000) || ok=false
	report unload "" $ok "\"available\": \"$(available)\", \"refusals\": $refusals, \"transfers\": [${fact:-null}]"
}

dmesg -c > /dev/null
BEGAN=$(uptime)
NAMES=default
watch &
for one in $CASES; do
	"case_$one"
done
echo END >&3
