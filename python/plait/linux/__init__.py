"""The linux engine: runs scenarios in the real kernel's MPTCP, in virtual time, as a process.

`plan` turns a scenario into a plan or refuses it. `boot` starts a User-Mode Linux kernel, and
`guest` runs inside it. `engine` ties them together. `build` builds the kernel.

```text
scenario ──► plan (host) ──► order.json ──► agent (guest): network, captures, traffic
                                                   │
result ◄── _core.observed ◄── run folder ◄─────────┘
```

| file | content |
|---|---|
| `refusals.py` | unsupported features, refused by name; differences of the kernel (`KERNEL_HABITS`) |
| `topology.py`, `wire.py` | routers and routes; queueing disciplines and their changes, as `ip` and `tc` lines |
| `transport.py` | sysctls, module parameters, options of routes |
| `plan.py`, `guest/plan.py` | combines these; the data that crosses into the guest |
| `boot.py`, `processor.py` | starts the kernel on one processor, watches it, ends a stuck one |
| `guest/` | the first process inside, with the standard library alone |
| `engine.py` | runs as many guests as cores; compares the hashes of received and written bytes |
| `kernel.py`, `build.py`, `archive.py` | the place of the kernel; its build; the source, by its hash |
| `tools.py`, `machine.py` | required programs and properties of the machine, checked before a build |

The host decides and the guest obeys: every line for `ip` and `tc` is in the plan, so it can be read
and tested without a kernel. The command line of the kernel is the same for all runs except for the
seed, because the kernel mixes it into its random numbers. Tests change plans for networks that
scenarios cannot describe (`alter` of `engine.run`).

Differences from the simulator:

- netem counts queues in packets, so limits in bytes and time become packets of the direction's
  size. Queued packets keep their departure when the rate changes. netem's correlations of jitter
  and copies are refused.
- `receive_buffer` is the window for full packets and an empty buffer. The kernel counts memory, and
  learns the share of payload, from half on. The simulator's profile "linux" does the same
  (`mptcp/grant.rs`), with the memory that packets take in the lab, where only waiting out-of-order
  packets merge. Real cards merge packets, and the same buffer holds more. There is one processor,
  and its time is free.
- `rto_min`, `initial_window`, `ack_every` (1 or 2) and `hystart` become sysctls, route options and
  CUBIC's parameter.
- With requests, the receiver opens the subflows from an address per path, and the sender answers on
  one shared address (`topology.build(…, opener)`). Sizes and think times are the simulator's; times
  are read where the calls return (`guest/requests.py`).
- The end of a file is not announced, because the kernel opens no more subflows after it.
- Counters of dropped and lost packets are those of the links of a path, for the packets of all
  flows.
"""
