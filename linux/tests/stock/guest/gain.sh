# Functions for the comparison of schedulers. gain.py writes a script that calls them.

. ./settings
FILES=/tmp/restore

# The files of network namespaces are where the lab has them.
mkdir -p /run/netns
ln -s /run/netns /dev/netns
for module in veth sch_netem; do
	insmod "/modules/$module.ko"
done
[ -z "$MODULE" ] || insmod "./$MODULE.ko"
exec 3> /dev/ttyS1

inside() {
	name=$1
	shift
	nsenter --net="/run/netns/$name" "$@"
}

# batch PROGRAM NAMESPACE: lines of standard input; an empty namespace is this one.
batch() {
	if [ -n "$2" ]; then
		inside "$2" "/bin/$1" -batch -
	else
		"/bin/$1" -batch -
	fi || poweroff -f
}

# put NAMESPACE FILE VALUE
put() {
	if [ -n "$1" ]; then
		inside "$1" sh -c 'echo "$2" > "$1"' put "$2" "$3"
	else
		echo "$3" > "$2"
	fi || poweroff -f
}

# parameter NAME VALUE: of the module, until `restore`.
parameter() {
	file=/sys/module/$MODULE/parameters/$1
	echo "$file $(cat "$file")" >> $FILES
	put "" "$file" "$2"
}

restore() {
	[ ! -e $FILES ] || while read -r file value; do echo "$value" > "$file"; done < $FILES
	rm -f $FILES
}

# listen PORT BLOCK SECONDS
listen() {
	inside rcv /bin/transfer serve "$1" /bin/transfer receive "$2" "$3" &
	LISTENER=$!
	sleep 0.1
}

# measure CASE SCHEDULER FROM TO PORT BLOCK MICROSECONDS SECONDS
measure() {
	label="\"case\": \"$1\", \"scheduler\": \"$2\""
	shift 2
	facts=$(inside snd /bin/transfer blocks "$@") || facts='"failed": true'
	echo "{$label, $facts}" >&3
	restore
	# The last acknowledgements leave the links.
	sleep 2
}

# quit NAMESPACE...: ends the case.
quit() {
	kill $LISTENER
	for name in "$@"; do
		/bin/ip netns delete "$name"
	done
}
