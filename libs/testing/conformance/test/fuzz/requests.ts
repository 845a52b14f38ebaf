/** Draws invalid requests from valid ones by mutation: the same seed draws the same requests. */
import type { SeededRandom } from "@perdure/testkit";

export interface Drawn {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string | Uint8Array | undefined;
}

/** A request as it should be; `{…}` in a path stands for something drawn. */
export interface Sample {
  readonly method: string;
  readonly path: string;
  readonly json?: unknown;
}

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "PROPFIND"];
const ODD_SEGMENTS = [
  "",
  ".",
  "..",
  "%00",
  "%2F",
  "%2e%2e",
  "%zz",
  "%ff%fe",
  "%F0%9F%A6%8A",
  "__proto__",
  "constructor",
  "restate",
  "openapi",
];
const ODD_TEXTS = [
  "",
  " ",
  "\u0000",
  "null",
  "__proto__",
  "🦊",
  "\ud800",
  "'; DROP TABLE x",
  "inv_1",
  "dp_1",
  "-1",
  "1e309",
  "x".repeat(5_000),
];
const ODD_HEADERS: readonly (readonly [string, string])[] = [
  ["content-type", 'application/json; charset="utf-8'],
  ["content-type", "/"],
  ["content-type", "text/plain"],
  ["idempotency-key", ""],
  ["idempotency-key", "k".repeat(8_000)],
  ["accept", "application/vnd.apache.arrow.stream"],
  ["accept-encoding", "zstd, br;q=0, gzip;q=x"],
  ["traceparent", "00-zz"],
  ["x-restate-limit-key", "a/b/c"],
  ["origin", "null"],
  ["expect", "100-continue"],
  ["range", "bytes=0-"],
  ["authorization", "Bearer "],
  ["x".repeat(200), "y".repeat(4_000)],
];

export function drawRequest(samples: readonly Sample[], random: SeededRandom): Drawn {
  const sample = random.pick(samples);
  const method = random.chance(0.15) ? random.pick(METHODS) : sample.method;
  const headers: Record<string, string> = {};
  if (random.chance(0.9)) headers["content-type"] = "application/json";
  while (random.chance(0.25)) {
    const [name, value] = random.pick(ODD_HEADERS);
    headers[name] = value;
  }
  return { method, path: drawPath(sample.path, random), headers, body: drawBody(sample, method, random) };
}

function drawPath(path: string, random: SeededRandom): string {
  const [bare, query] = path.split("?") as [string, string | undefined];
  const segments = bare.split("/").slice(1);
  while (random.chance(0.3)) {
    const at = random.below(segments.length + 1);
    switch (random.below(4)) {
      case 0:
        segments.splice(at, 1);
        break;
      case 1:
        segments.splice(at, 0, random.pick(ODD_SEGMENTS));
        break;
      case 2:
        segments.splice(at, 1, random.pick(ODD_SEGMENTS));
        break;
      case 3:
        segments.splice(at, 0, "s".repeat(random.below(3_000)));
        break;
    }
  }
  const parameters = query === undefined ? [] : [query];
  while (random.chance(0.2))
    parameters.push(
      random.pick([
        "delay=",
        "delay=%ff",
        "force=maybe",
        "from=-1",
        "from=99999999999999999999",
        "mode=x",
        "&&=&",
        "deployment=x",
      ]),
    );
  return `/${segments.join("/")}${parameters.length === 0 ? "" : `?${parameters.join("&")}`}`;
}

function drawBody(sample: Sample, method: string, random: SeededRandom): string | Uint8Array | undefined {
  if (method === "GET" || method === "HEAD") return undefined;
  const kind = random.below(10);
  if (kind === 0) return undefined;
  if (kind === 1) {
    const bytes = new Uint8Array(random.below(2_000));
    random.bytes(bytes);
    return bytes;
  }
  if (kind === 2) return "[".repeat(random.below(20_000));
  const text = JSON.stringify(mutate(sample.json ?? { a: [1, "b", null] }, random));
  if (kind === 3) return text.slice(0, random.below(text.length + 1));
  return text;
}

/** The same JSON with some of its parts replaced, added or gone. */
function mutate(value: unknown, random: SeededRandom): unknown {
  if (random.chance(0.15)) return oddValue(random);
  if (Array.isArray(value)) return value.map((one) => mutate(one, random));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value)
    .filter(() => !random.chance(0.1))
    .map(([name, one]) => [name, mutate(one, random)] as const);
  if (random.chance(0.1)) entries.push([random.pick(ODD_TEXTS), oddValue(random)]);
  return Object.fromEntries(entries);
}

function oddValue(random: SeededRandom): unknown {
  switch (random.below(8)) {
    case 0:
      return null;
    case 1:
      return random.pick([0, -1, 1.5, Number.MAX_SAFE_INTEGER, 1e300]);
    case 2:
      return [];
    case 3:
      return {};
    case 4:
      return random.chance(0.5);
    case 5:
      return Array.from({ length: random.below(300) }, (_, i) => i);
    case 6:
      return nested(random.below(500));
    default:
      return random.pick(ODD_TEXTS);
  }
}

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = { a: value };
  return value;
}
