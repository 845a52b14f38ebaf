import { request } from "node:http";
import { connect } from "node:http2";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { silentLogger, systemClock } from "@perdure/base";
import type { RequestGuard } from "./guard.js";
import { createHttpPort, type HttpPort } from "./port.js";

const guard: RequestGuard = {
  hidden: ["x-pass"],
  refusal: (_method, _target, headers) =>
    headers["x-pass"] === "sesame" ? undefined : { status: 401, headers: { "x-why": "no pass" }, body: "{}" },
};
let port: HttpPort;
let at: number;

beforeEach(async () => {
  port = createHttpPort(
    {
      request: (req, res) => void res.end(JSON.stringify([req.headers, req.rawHeaders])),
      stream(stream, headers, _flags, rawHeaders) {
        stream.respond({ ":status": 200 });
        stream.end(JSON.stringify([headers, rawHeaders]));
      },
    },
    { clock: systemClock, logger: silentLogger },
    { guard },
  );
  at = (await port.listen({ host: "127.0.0.1", port: 0 })).port;
});
afterEach(() => port.close(0));

interface Answer {
  readonly status: number;
  readonly why: unknown;
  readonly body: string;
}

function overHttp1(headers: Record<string, string>): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const clientRequest = request({ host: "127.0.0.1", port: at, headers, agent: false }, (res) => {
      text(res).then((body) => resolve({ status: res.statusCode ?? 0, why: res.headers["x-why"], body }), reject);
    });
    clientRequest.on("error", reject).end();
  });
}

async function overHttp2(headers: Record<string, string>): Promise<Answer> {
  const session = connect(`http://127.0.0.1:${at}`);
  try {
    const stream = session.request({ ":path": "/", ...headers });
    const answered = new Promise<{ status: number; why: unknown }>((resolve, reject) => {
      stream.on("response", (responseHeaders) =>
        resolve({ status: Number(responseHeaders[":status"]), why: responseHeaders["x-why"] }),
      );
      stream.on("error", reject);
    });
    const body = await text(stream);
    return { ...(await answered), body };
  } finally {
    session.close();
  }
}

test.each([
  ["HTTP/1.1", overHttp1],
  ["HTTP/2", overHttp2],
])("over %s no request passes without credentials, and handlers do not get the credentials", async (_version, fetchOver) => {
  expect(await fetchOver({})).toEqual({ status: 401, why: "no pass", body: "{}" });
  const passed = await fetchOver({ "x-pass": "sesame", "x-other": "seen" });
  expect(passed.status).toBe(200);
  expect(passed.body).toContain("seen");
  expect(passed.body).not.toContain("sesame");
});
