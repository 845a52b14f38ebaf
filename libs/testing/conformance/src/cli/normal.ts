/**
 * Normalises the output of a command, which differs between runs in widths, ids, times and ports, so that it can be compared with a
 * recording.
 */

/** Role by text of one run (an id or an address). Longer texts are replaced first. */
export type Roles = ReadonlyMap<string, string>;

const TIME = "<time>";
const DATE = "<date>";
const AGE = "<age>";
const UNIT = "(?:year|month|week|day|hour|minute|second|ms|us|ns)s?";
const AMOUNT = String.raw`\d+(?:\.\d+)? ?${UNIT}`;

/** Applied in this order. */
const REPLACEMENTS: readonly (readonly [RegExp, string])[] = [
  [/\x1b\[[0-9;]*m/g, ""],
  [/\[(?:1|0)?m/g, ""],
  // Before amounts: an id may contain "4us".
  [/\b01[0-9A-HJKMNP-TV-Z]{24}\b/g, "<ulid>"],
  [/\binv_1\w{33}\b/g, "<inv>"],
  [/\bdp_1\w{22}\b/g, "<dp>"],
  [/\bsub_1\w{22}\b/g, "<sub>"],
  [/\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?(?: ?\+00:00|Z)?/g, TIME],
  [/\b\d{4}-\d\d-\d\d\b/g, DATE],
  [/(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? \d{1,2} \w{3} \d{4} \d\d:\d\d:\d\d \+00:?00/g, TIME],
  [new RegExp(`${AMOUNT}(?:(?:, | and )${AMOUNT})*`, "g"), AGE],
  // "a minute ago", when a run took longer than most.
  [/\ban? (?:year|month|week|day|hour|minute|second)\b(?= ago)/g, AGE],
  [/\bPT\d+\.\d+S\b/g, AGE],
  [/\bnow ago\b/g, `${AGE} ago`],
  [/\(invoked <age>\)/g, `(invoked ${AGE} ago)`],
  [/\bQuery took .*/g, ""],
  [/\(version v\d+\)/g, "(version <version>)"],
  // The CLI adds this remark after a time of its own.
  [/ Current attempt has been in-flight for .*/g, ""],
  [/ Suspended for <age>\. .*/g, ""],
  [/(suspended +\(<age>)(?: ago|\. The key will not be released[^)]*)\)/g, "$1)"],
];

/** Lines of box drawing, tips of the CLI, and stack traces below their first frame. */
const DROPPED = /^(?:[\s―─━═╌│┆╭╮╰╯╞╡├┤┌┐└┘┬┴┼╪╧╤]*|\s*at .*)$/u;

/** The lines of an output with single blanks, roles for ids, and placeholders for values that change from run to run. */
export function normalLines(output: string, roles: Roles = new Map()): readonly string[] {
  let text = withoutTips(output);
  for (const [own, role] of [...roles].sort(([a], [b]) => b.length - a.length)) text = text.replaceAll(own, role);
  for (const [pattern, replacement] of REPLACEMENTS) text = text.replace(pattern, replacement);
  return text
    .split("\n")
    .filter((line) => !DROPPED.test(line))
    .flatMap((line) =>
      line
        .replace(/[│┆]/g, " ")
        .replace(/\s+/g, " ")
        .replace(/ (?=- \w+ \[\d+\] ?$)/, "\n")
        .trim()
        .split("\n"),
    )
    .filter((line) => line !== "");
}

/** Removes `[TIP]:` and the indented lines that belong to it. */
function withoutTips(output: string): string {
  const kept: string[] = [];
  let inTip = false;
  for (const line of output.split("\n")) {
    inTip = /^\s*\[TIP\]/.test(line) || (inTip && /^(?: {8}|\s*$)/.test(line));
    if (!inTip) kept.push(line);
  }
  return kept.join("\n");
}

/** The reference server generates an idempotency key for every call without one, and shows it; this server does not. */
export function withoutInventedKeys(lines: readonly string[]): readonly string[] {
  return lines.filter((line) => line !== "Idempotency key: <ulid>");
}

/** Active keys of a service are shown in arbitrary order, five at most; only the key with a queue is always first. */
export function withoutIdleKeys(lines: readonly string[]): readonly string[] {
  return lines.filter((line) => !/ 0 \S+ \((?:completed|running)\) \w+$/.test(line));
}
