"""The playground: one HTML file that simulates in the browser, without a server and a network.

| module | content |
|---|---|
| `library` | the source of Rust's standard library, its hash and its locations |
| `simulator` | the compiled simulator, and the hash of its sources |
| `build` | compiles the simulator for the browser (`make playground`) |
| `presets` | scenarios to begin with |
| `page` | joins template, style sheet, scripts and simulator into the page |

`page.html.j2`, `page.css` and the folder `scripts` are the page's own sources.
"""
