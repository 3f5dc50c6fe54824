"""
How a report looks, on a screen, in the dark and on paper.
"""

from __future__ import annotations

from typing import Final

STYLE: Final = """
:root {
  color-scheme: light dark;
  --ink: #1c2430; --quiet: #5d6877; --paper: #ffffff; --card: #f6f7f9; --rule: #d9dee5;
  --good: #1a7f4b; --bad: #c0332b; --unsure: #a86a00;
  --c0: #2f6fde; --c1: #1f9d8a; --c2: #c2410c; --c3: #b3205d; --c4: #6d5bd0; --c5: #7a7f1d;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e6e9ee; --quiet: #9aa5b4; --paper: #14181e; --card: #1c222b; --rule: #333c49;
    --good: #4cc38a; --bad: #ff7b72; --unsure: #e3b341;
    --c0: #79a8ff; --c1: #5ad1bd; --c2: #ff9a5c; --c3: #ff7fb0; --c4: #b3a4ff; --c5: #cfd36a;
  }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 92rem; padding: 1.5rem; font: 15px/1.5 system-ui, sans-serif;
  color: var(--ink); background: var(--paper); }
h1 { font-size: 1.3rem; margin: 0; }
h2 { font-size: 1.05rem; margin: 1.6rem 0 .6rem; }
h3 { font-size: .95rem; margin: 0 0 .2rem; overflow-wrap: anywhere; }
small, .what { color: var(--quiet); font-weight: normal; }
.what { margin: .1rem 0; font-size: .9rem; }
header { border-left: .5rem solid var(--unsure); background: var(--card); padding: 1rem 1.25rem; border-radius: .4rem; }
header.passed { border-color: var(--good); }
header.failed { border-color: var(--bad); }
header .verdict { font-size: 1.5rem; font-weight: 700; margin: .2rem 0 .4rem; color: var(--unsure); }
header.passed .verdict { color: var(--good); }
header.failed .verdict { color: var(--bad); }
header ul { margin: .2rem 0 .6rem; padding-left: 1.2rem; }
.columns { display: grid; grid-template-columns: minmax(0, 1fr); gap: 0 2rem; }
@media (min-width: 70rem) { .columns { grid-template-columns: minmax(0, 1fr) 26rem; } }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; padding: .3rem .5rem; border-bottom: 1px solid var(--rule); vertical-align: top; }
th { color: var(--quiet); font-weight: 600; }
td { overflow-wrap: anywhere; }
table + table { margin-top: 1rem; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.criteria code { white-space: nowrap; font-size: .85rem; }
.criteria .holds { font-weight: 700; color: var(--good); }
.criteria .no .holds, .criteria .no .number { color: var(--bad); font-weight: 700; }
aside table { font-size: .82rem; }
aside th, aside td { padding: .25rem .35rem; }
.better { color: var(--good); }
.worse { color: var(--bad); }
article { background: var(--card); border-left: .3rem solid var(--unsure); border-radius: .3rem; padding: .7rem .9rem;
  margin-bottom: .8rem; font-size: .9rem; overflow-wrap: anywhere; }
article.critical { border-color: var(--bad); }
article.notice { border-color: var(--quiet); }
article p { margin: .35rem 0; }
figure { margin: 0 0 .8rem; break-inside: avoid; }
figcaption { font-size: .85rem; margin-bottom: .1rem; }
.key { margin-left: .9rem; white-space: nowrap; color: var(--quiet); }
.key::before { content: ""; display: inline-block; width: 1rem; margin-right: .3rem; vertical-align: middle;
  border-top: 3px solid currentColor; }
.key.dashed::before { border-top-style: dashed; }
.key.c0::before { color: var(--c0); } .key.c1::before { color: var(--c1); } .key.c2::before { color: var(--c2); }
.key.c3::before { color: var(--c3); } .key.c4::before { color: var(--c4); } .key.c5::before { color: var(--c5); }
svg { display: block; width: 100%; height: auto; background: var(--card); border-radius: .3rem; }
svg .grid { stroke: var(--rule); }
svg .tick { fill: var(--quiet); font: 10px system-ui, sans-serif; }
svg .line { fill: none; stroke-width: 1.6; stroke-linejoin: round; stroke-linecap: round; }
svg .dashed { stroke-dasharray: 4 4; opacity: .75; }
svg .c0 { stroke: var(--c0); } svg .c1 { stroke: var(--c1); } svg .c2 { stroke: var(--c2); }
svg .c3 { stroke: var(--c3); } svg .c4 { stroke: var(--c4); } svg .c5 { stroke: var(--c5); }
svg .mark { fill: var(--unsure); fill-opacity: .16; }
svg .mark.idle { fill: var(--c4); fill-opacity: .10; }
svg .mark.crash { fill: var(--bad); fill-opacity: .25; }
svg .hint { fill: transparent; }
svg .hint:hover { fill: var(--ink); fill-opacity: .08; }
details { margin-top: 1rem; }
summary { cursor: pointer; margin-bottom: .6rem; color: var(--quiet); }
@media print { body { max-width: none; padding: 0; font-size: 11px; } }
""".strip()
