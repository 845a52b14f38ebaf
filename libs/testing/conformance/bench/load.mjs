/** Load through wrk on loopback, and the endpoint driven directly as the ceiling. */
import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import http2 from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const scripts = mkdtempSync(join(tmpdir(), "bench-wrk-"));
writeFileSync(join(scripts, "post.lua"), 'wrk.method = "POST"\n');
writeFileSync(
  join(scripts, "counter.lua"),
  'local n = 0\nrequest = function() n = (n * 1103515245 + 12345) % 2147483648; return wrk.format("POST", "/Counter/k" .. (n % 1000) .. "/add") end\n',
);

export const workloads = {
  noop: { script: "post.lua", path: "/Bench/noop", title: "no-op service handler" },
  three: { script: "post.lua", path: "/Bench/three", title: "handler with three `ctx.run` steps" },
  counter: { script: "counter.lua", path: "/", title: "virtual-object counter over 1,000 keys" },
};

const toMs = (text) => {
  const [, number, unit] = /([\d.]+)(us|ms|s|m)/.exec(text ?? "") ?? [];
  if (number === undefined) throw new Error(`wrk printed no latency: ${text}`);
  return Number(number) * { us: 0.001, ms: 1, s: 1000, m: 60_000 }[unit];
};

/** One run of wrk: requests per second, latencies in milliseconds, number of requests and of failed ones. `headers`: `name: value`. */
export function wrk(base, workload, connections, seconds, headers = []) {
  return figuresOf(execFileSync("wrk", wrkArguments(base, workload, connections, seconds, headers), { encoding: "utf8" }));
}

/** The same; throws unless every request was answered. */
export function wrkAnswered(base, workload, connections, seconds) {
  const result = wrk(base, workload, connections, seconds);
  if (result.requests === 0 || result.failed > 0) throw new Error(`${result.failed} of ${result.requests} requests failed`);
  return result;
}

/** The same as `wrk` beside whatever this process does meanwhile. */
export async function wrkBeside(base, workload, connections, seconds, headers = []) {
  const all = wrkArguments(base, workload, connections, seconds, headers);
  const { stdout } = await promisify(execFile)("wrk", all, { encoding: "utf8" });
  return figuresOf(stdout);
}

function wrkArguments(base, workload, connections, seconds, headers) {
  const { script, path } = workloads[workload];
  const times = [`-c${connections}`, `-d${seconds}s`, "--latency", "--timeout", "10s"];
  return ["-t1", ...times, ...headers.flatMap((header) => ["-H", header]), "-s", join(scripts, script), base + path];
}

function figuresOf(out) {
  const find = (pattern) => pattern.exec(out)?.[1];
  return {
    perSecond: Number(find(/Requests\/sec:\s+([\d.]+)/)),
    p50: toMs(find(/^\s+50%\s+(\S+)/m)),
    p99: toMs(find(/^\s+99%\s+(\S+)/m)),
    requests: Number(find(/(\d+) requests in/)),
    failed: Number(find(/Non-2xx or 3xx responses: (\d+)/) ?? 0) + Number(find(/timeout (\d+)/) ?? 0),
  };
}

const varint = (n) => {
  const bytes = [];
  for (; n > 127; n = Math.floor(n / 128)) bytes.push((n & 127) | 128);
  bytes.push(n);
  return bytes;
};
const field = (number, bytes) => [...varint((number << 3) | 2), ...varint(bytes.length), ...bytes];
const frame = (type, body) => Buffer.from([type >> 8, type & 255, 0, 0, 0, 0, body.length >> 8, body.length & 255, ...body]);

/** Calls per second that the endpoint itself can answer when nobody makes anything durable. */
export async function endpointCeiling(uri, concurrency, seconds) {
  const session = http2.connect(uri);
  const id = Buffer.alloc(24, 7);
  const start = frame(0, [
    ...field(1, [...id]),
    ...field(2, [...Buffer.from("inv_1ceiling")]),
    ...[(3 << 3) | 0, 1],
    ...[(5 << 3) | 0, 1],
  ]);
  const input = frame(0x0400, field(14, field(1, [])));
  const body = Buffer.concat([start, input]);
  const media = "application/vnd.restate.invocation.v6";
  let done = 0;
  const end = performance.now() + seconds * 1000;
  const one = () =>
    new Promise((resolve, reject) => {
      const stream = session.request({ ":method": "POST", ":path": "/invoke/Bench/noop", "content-type": media, accept: media });
      stream.on("error", reject);
      stream.on("data", () => {});
      stream.on("end", resolve);
      stream.end(body);
    });
  const lane = async () => {
    while (performance.now() < end) {
      await one();
      done++;
    }
  };
  const began = performance.now();
  await Promise.all(Array.from({ length: concurrency }, lane));
  session.close();
  return (done / (performance.now() - began)) * 1000;
}
