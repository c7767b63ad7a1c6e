"""The linux engine: runs scenarios in the real kernel's MPTCP, in virtual time, as a process.

`plan` turns a scenario into a plan or refuses it. `boot` starts a User-Mode Linux kernel, and
`guest` runs inside it. `engine` ties them together. `build` builds the kernel.
"""
