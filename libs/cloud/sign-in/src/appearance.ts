/**
 * Style of the login pages: the console's colours, type and logo, in light and dark as the browser prefers. Each page is one file, so the
 * console's style (services/console/src/kit) is repeated here.
 */
import { createHash } from "node:crypto";

export const STYLE = `:root{color-scheme:light dark;--surface:light-dark(#fff,#14171c);--sunken:light-dark(#f5f6f8,#0f1115);
--hover:light-dark(#eef1f5,#222831);--line:light-dark(#dfe3e9,#2b323d);--line-strong:light-dark(#868f9c,#6b7585);
--text:light-dark(#1a1f27,#e8ebf0);--quiet:light-dark(#56606e,#a3adba);--accent:light-dark(#2350b8,#8fb0ff);
--fill:light-dark(#2350b8,#3560c9);--fill-hover:light-dark(#1c4299,#4570d8);--good:light-dark(#14703c,#5fd08f);
--bad:light-dark(#b3261e,#ff8f87);--bad-soft:light-dark(#fce8e6,#3a1b1a);
--code:ui-monospace,"SF Mono","Cascadia Mono",Menlo,Consolas,"Liberation Mono",monospace}
*,*::before,*::after{box-sizing:border-box}
body{margin:0;padding:1rem;min-height:100vh;font:.9375rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif;
color:var(--text);background:var(--sunken);-webkit-text-size-adjust:100%}
.brand,main{max-width:25rem;margin:0 auto}
.brand{padding:6vh 0 1.25rem;text-align:center}
.brand a{display:inline-flex;align-items:center;gap:.5rem;font-size:1.0625rem;font-weight:600;color:var(--text)}
.brand svg{width:1.5rem;height:1.5rem}.brand rect{fill:var(--fill)}
main{padding:1.5rem;background:var(--surface);border:1px solid var(--line);border-radius:10px;overflow-wrap:anywhere}
h1{font-size:1.25rem;font-weight:600;line-height:1.3;margin:0 0 1rem}
h2{font-size:1rem;font-weight:600;margin:1.5rem 0 .5rem}
p{margin:0 0 .75rem}p:last-child{margin-bottom:0}
a{color:var(--accent)}.brand a,a.button{text-decoration:none}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
.field{margin:0 0 1rem}label{display:block;font-weight:500;margin:0 0 .25rem}
input{display:block;width:100%;min-height:2.375rem;padding:.375rem .625rem;font:inherit;color:var(--text);background:var(--surface);
border:1px solid var(--line-strong);border-radius:6px}
input[aria-invalid=true]{border-color:var(--bad)}
.hint,small,dt{color:var(--quiet);font-size:.8125rem}.hint{margin:.25rem 0 0}
button,.button{display:inline-flex;align-items:center;justify-content:center;min-height:2.375rem;padding:.25rem .875rem;font:inherit;
font-weight:500;cursor:pointer;color:#fff;background:var(--fill);border:1px solid transparent;border-radius:6px}
button:hover,.button:hover{background:var(--fill-hover)}
button.second,.button.second{color:var(--text);background:var(--surface);border-color:var(--line-strong)}
button.second:hover,.button.second:hover{background:var(--hover)}
.actions{display:flex;flex-wrap:wrap;gap:.5rem}.actions>*{flex:1 1 auto}
.below{margin:1.25rem 0 0;padding:1rem 0 0;border-top:1px solid var(--line);color:var(--quiet)}
.problem{padding:.625rem .75rem;color:var(--bad);background:var(--bad-soft);border-radius:6px}
code,pre{font-family:var(--code);font-size:.875rem}pre{margin:0 0 .75rem;padding:.625rem .75rem;overflow-x:auto;
background:var(--sunken);border:1px solid var(--line);border-radius:6px}
.code code{font-size:1.375rem;letter-spacing:.06em}
dl{margin:0 0 1rem}dd{margin:0 0 .625rem}
ul{list-style:none;margin:0;padding:0}li{display:flex;flex-wrap:wrap;align-items:center;justify-content:space-between;gap:.5rem;
padding:.75rem 0;border-top:1px solid var(--line)}li>div{flex:1 1 12rem}
@media (max-width:26rem){body{padding:.5rem}.brand{padding-top:1rem}main{padding:1rem}.actions>*{flex-basis:100%}}
`;

export const STYLE_HASH = createHash("sha256").update(STYLE).digest("base64");

/** Same as services/console/src/shell/mark.tsx. */
export const MARK = `<svg viewBox="0 0 24 24" aria-hidden="true"><rect width="24" height="24" rx="6"/><path
d="M7 6.5h6.2a4.3 4.3 0 0 1 0 8.6H9.6V18" fill="none" stroke="#fff" stroke-width="2.2" stroke-linecap="round" stroke-linejoin="round"/><circle
cx="7" cy="17.9" r="1.25" fill="#fff"/></svg>`;
