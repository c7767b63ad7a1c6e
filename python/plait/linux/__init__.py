"""The linux engine: scenarios in the real kernel's MPTCP, in virtual time, as an ordinary process.

`plan` turns a scenario into a plan or refuses it, `boot` starts a User-Mode Linux kernel, `guest` is what runs inside,
`engine` ties them together, `build` makes the kernel.
"""
