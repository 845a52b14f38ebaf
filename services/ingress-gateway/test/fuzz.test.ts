/**
 * Whatever the input, the ingress responds with well-formed HTTP or closes the connection, and continues to serve. Every input comes from
 * a seed; a failure names it.
 */
import { connect as connectTcp } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { SeededRandom } from "@perdure/testkit";
import { openClient, type TestAnswer } from "./client.js";
import { type Fixture, failure, startIngress, success } from "./fixture.js";
import { exchangeRaw, parseAnswers, type RawAnswer } from "./raw.js";

const segments = [
  ...[
    "Greeter",
    "Counter",
    "Wf",
    "Internal",
    "Nope",
    "restate",
    "openapi",
    "greet",
    "run",
    "send",
    "call",
    "scope",
    "s1",
    "key",
    "k",
  ],
  ...[
    "attach",
    "output",
    "lookup",
    "invocation",
    "workflow",
    "awakeables",
    "a",
    "resolve",
    "reject",
    "health",
    "",
    "..",
    "%2F",
    "%FF",
  ],
  ...[
    "%zz",
    "%",
    "\u00fc",
    "inv_1",
    "inv_12YCSKsWoS3C4hrESsYEiDqy194YcMIS34",
    "sign_1rk7BEYP5kXXxN8KZ7MaT5bDMAVlK09uoAAAAEQ",
    "prom_1x",
  ],
  ...["__proto__", "constructor", "toString"],
];
const queries = [
  "",
  "?",
  "?delay=1s",
  "?delay=x",
  "?delay=",
  "?delay=%FF&limit-key=a/b/c",
  "?limit-key=a",
  "?a=b&&=",
  "?%",
  "#f",
  "?x#y",
];
const methods = [
  "GET",
  "GET",
  "GET",
  "POST",
  "POST",
  "POST",
  "POST",
  "PUT",
  "DELETE",
  "PATCH",
  "HEAD",
  "OPTIONS",
  "TRACE",
  "PROPFIND",
];
const headerNames = [
  ...["content-type", "idempotency-key", "Idempotency-Key", "x-restate-limit-key", "origin", "access-control-request-method"],
  ...[
    "access-control-request-headers",
    "traceparent",
    "tracestate",
    "x-restate-ingress-path",
    "x-restate-id",
    "cookie",
    "x",
    "expect",
    "te",
  ],
];
const headerValues = [
  ...[
    "application/json",
    "text/plain",
    "Application/JSON",
    "",
    "a b",
    "\u00c3\u00bc",
    "\u00ff",
    "k",
    "a/b",
    "http://app.example",
    "*",
  ],
  ...["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "100-continue", "\t", "x".repeat(2000)],
];
const bodies = [
  ...[
    "",
    "1",
    '"x"',
    "{",
    "{}",
    "null",
    '{"target":"x"}',
    '{"target":"workflow","workflowName":"Wf","workflowKey":"k"}',
    "\u00ff\u0000",
  ],
  ...[
    '{"target":"invocation","invocationId":"inv_bad"}',
    '{"target":"idempotentInvocation","service":"S","handler":"h","idempotencyKey":1}',
  ],
  ...['{"__proto__":{"target":"workflow"}}', "x".repeat(70_000)],
];

const goodPaths = [
  ...[
    "/Greeter/greet",
    "/Greeter/greet/send",
    "/Greeter/bin",
    "/Counter/k/add",
    "/Counter/%C3%BC/key/send",
    "/Wf/w/run",
    "/Wf/w/peek/send",
  ],
  ...["/restate/call/Greeter/greet", "/restate/send/Counter/k/add", "/restate/scope/s1/call/Greeter/greet", "/restate/lookup"],
  ...[
    "/restate/attach",
    "/restate/output",
    "/restate/attach/inv_12YCSKsWoS3C4hrESsYEiDqy194YcMIS34",
    "/restate/workflow/Wf/w/attach",
  ],
  ...["/restate/invocation/Greeter/greet/k/output", "/restate/invocation/Counter/k/add/k/attach", "/restate/health"],
  ...["/restate/a/sign_1rk7BEYP5kXXxN8KZ7MaT5bDMAVlK09uoAAAAEQ/resolve", "/restate/awakeables/prom_1x/reject"],
];

/** Mostly a path that leads somewhere, often with one segment exchanged; sometimes any segments. */
function aPath(random: SeededRandom): string {
  if (random.chance(0.2))
    return Array.from({ length: 1 + random.below(8) }, () => `/${random.pick(segments)}`).join("") + random.pick(queries);
  const path = random.pick(goodPaths).split("/");
  if (random.chance(0.3)) path[1 + random.below(path.length - 1)] = random.pick(segments);
  return path.join("/") + random.pick(queries);
}

function someHeaders(random: SeededRandom): [string, string][] {
  const any = Array.from({ length: random.below(4) }, (): [string, string] => [
    random.pick(headerNames),
    random.pick(headerValues),
  ]);
  return random.chance(0.5) ? [["content-type", "application/json"], ...any] : any;
}

/** The shape of every response, for any request. */
function checkAnswer({ status, headers, body }: RawAnswer, isHead: boolean): void {
  expect(status).toBeGreaterThanOrEqual(200);
  if (isHead || body.length === 0) return;
  if (headers.get("content-type") !== "application/json") return;
  const json = JSON.parse(body.toString("utf8"));
  if (status < 400) return;
  expect(json).toMatchObject({
    code: expect.any(Number),
    message: expect.any(String),
    source: expect.stringMatching(/^(ingress|invocation)$/),
  });
  expect(headers.get("x-restate-error-source")).toBe(json.source);
  if (json.source === "ingress") expect(json.code).toBe(status);
}

const rounds = 25;
const requestsPerRound = 40;

describe("whatever comes over the wire", () => {
  let fixture: Fixture;
  beforeAll(async () => {
    fixture = await startIngress({
      script: ({ facts }) => (facts.target.handler === "run" ? failure(418, "teapot", { a: "b" }) : success('"ok"')),
      options: { requestBytesMax: 64 * 1024 },
    });
  });
  afterAll(async () => {
    await fixture[Symbol.asyncDispose]();
  });

  async function stillServes(): Promise<void> {
    await using client = openClient("http/1.1", fixture.port);
    expect((await client.send({ method: "GET", path: "/restate/health" })).status).toBe(200);
    expect(fixture.complaints).toEqual([]);
  }

  test.each(Array.from({ length: rounds }, (_, seed) => seed))(
    "well-formed requests of seed %d are answered over HTTP/1.1",
    async (seed) => {
      const random = new SeededRandom(seed);
      for (let i = 0; i < requestsPerRound; i++) {
        const method = random.pick(methods);
        const headers = someHeaders(random);
        const body = Buffer.from(random.pick(bodies), "latin1");
        const chunked = random.chance(0.3);
        const framing = chunked ? "transfer-encoding: chunked" : `content-length: ${body.length}`;
        const head = [
          `${method} ${aPath(random)} HTTP/1.1`,
          "host: x",
          "connection: close",
          framing,
          ...headers.map((h) => h.join(": ")),
          "",
          "",
        ];
        const framed = chunked ? [`${body.length.toString(16)}\r\n`, body, body.length > 0 ? "\r\n0\r\n\r\n" : "\r\n"] : [body];
        const bytes = Buffer.concat([
          Buffer.from(head.join("\r\n"), "latin1"),
          ...framed.map((part) => Buffer.from(part as string, "latin1")),
        ]);
        const { received } = await exchangeRaw(fixture.port, bytes);
        const finals = parseAnswers(received, () => method === "HEAD").filter(({ status }) => status !== 100);
        expect(finals).toHaveLength(1);
        checkAnswer(finals[0]!, method === "HEAD");
      }
      await stillServes();
    },
  );

  test.each(Array.from({ length: rounds }, (_, seed) => seed))(
    "well-formed requests of seed %d are answered over h2c",
    async (seed) => {
      const random = new SeededRandom(seed ^ 0x5eed);
      await using client = openClient("h2c", fixture.port);
      const responses: Promise<TestAnswer>[] = [];
      for (let i = 0; i < requestsPerRound; i++) {
        const body = random.pick(bodies);
        const headers = Object.fromEntries(someHeaders(random).filter(([name]) => name !== "te"));
        const path = aPath(random);
        responses.push(client.send({ method: random.pick(methods), path, headers, body: body === "" ? undefined : body }));
      }
      for (const answer of await Promise.all(responses)) {
        const headers = new Map(Object.entries(answer.headers).map(([name, value]) => [name, String(value)]));
        checkAnswer({ status: answer.status, headers, body: answer.body }, answer.body.length === 0);
        if (answer.body.length > 0) expect(headers.get("content-length")).toBe(String(answer.body.length));
      }
      await stillServes();
    },
  );

  test.each(Array.from({ length: rounds }, (_, seed) => seed))(
    "damaged requests of seed %d are answered or dropped",
    async (seed) => {
      const random = new SeededRandom(seed ^ 0xdead);
      const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
      for (let i = 0; i < 10; i++) {
        const body = random.pick(bodies);
        const start = random.chance(0.3) ? preface : "";
        const text = `${start}${random.pick(methods)} ${aPath(random)} HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
        const bytes = damaged(random, Buffer.from(text, "latin1"));
        const { received } = await exchangeRaw(fixture.port, bytes, { end: true });
        // After a preface the response is frames of HTTP/2: there it is enough that the connection ended.
        if (received.length > 0 && !bytes.toString("latin1").startsWith("PRI")) {
          // A malformed request has no method: its response has a body also where the damaged request began with HEAD.
          const isUnreadable = /^HTTP\/1\.1 (400|408|413|431) [\s\S]*connection: close/.test(received.toString("latin1"));
          const isHead = (index: number) => index === 0 && !isUnreadable && bytes.toString("latin1").startsWith("HEAD ");
          for (const [index, answer] of parseAnswers(received, isHead).entries()) checkAnswer(answer, isHead(index));
        }
      }
      await stillServes();
    },
  );

  test("connections cut at every byte of a request leave nothing behind", async () => {
    const request = 'POST /Greeter/greet HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 3\r\n\r\n"x"';
    const before = fixture.partitions.invoked.length;
    for (let cut = 0; cut < request.length; cut += 3) {
      await new Promise<void>((resolve) => {
        const socket = connectTcp(fixture.port, "127.0.0.1", () => {
          socket.write(request.slice(0, cut), () => socket.resetAndDestroy());
        });
        socket.on("close", () => resolve());
      });
    }
    expect(fixture.partitions.invoked).toHaveLength(before);
    await stillServes();
  });
});

/** Flips, drops, doubles or cuts some bytes. */
function damaged(random: SeededRandom, bytes: Buffer): Buffer {
  let result = Buffer.from(bytes);
  for (let i = 1 + random.below(3); i > 0 && result.length > 0; i--) {
    const at = random.below(Math.min(result.length, 200));
    switch (random.below(4)) {
      case 0:
        result[at] = random.below(256);
        break;
      case 1:
        result = Buffer.concat([result.subarray(0, at), result.subarray(at + 1 + random.below(5))]);
        break;
      case 2:
        result = Buffer.concat([result.subarray(0, at), result.subarray(Math.max(0, at - 4))]);
        break;
      default:
        result = result.subarray(0, at);
    }
  }
  return result;
}
