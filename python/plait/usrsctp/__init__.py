"""FreeBSD's SCTP stack, usrsctp: built once, then run in virtual time over the simulator's links.

Debian's source package is identified by its hash, patched by us, and compiled into one program.
The crate `plait-usrsctp` runs it, one process per run.

| module | content |
|---|---|
| `archive` | the source archive, its hash and its locations |
| `program` | location and identity of the built program |
| `build` | source, patches, compilation |
"""
