/** A port with TLS: both protocols by ALPN, certificates renewed while it runs, and clients without TLS. */
import { connect as connectHttp2 } from "node:http2";
import { request } from "node:https";
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { silentLogger, systemClock } from "@perdure/base";
import { type Certificates, makeCertificates } from "@perdure/testkit";
import type { Certificate, CertificateSource } from "./certificates.js";
import { createHttpPort, type HttpPort } from "./port.js";

class Renewable implements CertificateSource {
  current: Certificate;
  readonly #listeners: ((certificate: Certificate) => void)[] = [];

  constructor(current: Certificate) {
    this.current = current;
  }
  onChange(listener: (certificate: Certificate) => void): void {
    this.#listeners.push(listener);
  }
  renew(certificate: Certificate): void {
    this.current = certificate;
    for (const listener of this.#listeners) listener(certificate);
  }
}

let pairs: { readonly trusted: Certificates; readonly untrusted: Certificates };
let certificates: Renewable;
let server: HttpPort;
let port: number;
beforeAll(async () => {
  pairs = await makeCertificates();
  certificates = new Renewable(pairs.trusted);
  const handlers = {
    request: (req: { httpVersion: string; socket: { encrypted?: boolean } }, res: { end(text: string): void }) =>
      res.end(`${req.httpVersion} ${req.socket.encrypted === true}`),
  };
  const options = { certificates, headersTimeoutMs: 1_000 };
  server = createHttpPort(handlers as never, { clock: systemClock, logger: silentLogger }, options);
  ({ port } = await server.listen({ host: "127.0.0.1", port: 0 }));
});
afterAll(() => server.close(0));

function overHttp1(ca: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const clientRequest = request({ host: "localhost", port, ca, agent: false }, (res) => {
      let text = "";
      res.on("data", (chunk) => {
        text += chunk;
      });
      res.on("end", () => resolve(text));
    });
    clientRequest.on("error", reject);
    clientRequest.end();
  });
}

async function overHttp2(ca: string): Promise<string> {
  const session = connectHttp2(`https://localhost:${port}`, { ca });
  const stream = session.request({ ":path": "/" });
  let text = "";
  for await (const chunk of stream) text += String(chunk);
  const protocol = `${session.alpnProtocol}`;
  session.close();
  return text === "" ? "nothing" : protocol;
}

test("HTTP/1.1 and HTTP/2 are answered, as the client and the port agree", async () => {
  expect(await overHttp1(pairs.trusted.authority)).toBe("1.1 true");
  expect(await overHttp2(pairs.trusted.authority)).toBe("h2");
  await expect(overHttp1(pairs.untrusted.authority)).rejects.toThrow(/certificate/);
});

test("a new certificate holds for new connections; what is open continues", async () => {
  const session = connectHttp2(`https://localhost:${port}`, { ca: pairs.trusted.authority });
  await new Promise((resolve) => session.once("connect", resolve));
  certificates.renew(pairs.untrusted);
  expect(await overHttp1(pairs.untrusted.authority)).toBe("1.1 true");
  await expect(overHttp1(pairs.trusted.authority)).rejects.toThrow(/certificate/);
  const stream = session.request({ ":path": "/" });
  const headers = await new Promise<Readonly<Record<string, unknown>>>((resolve) => stream.once("response", resolve));
  expect(headers[":status"]).toBe(200);
  session.destroy();
  certificates.renew(pairs.trusted);
});

test("clients that send cleartext, send nothing, or offer only old versions are gone soon, and others are served", async () => {
  const plain = connect(port, "127.0.0.1");
  plain.on("error", () => undefined);
  plain.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
  const silent = connect(port, "127.0.0.1");
  const old = connectTls({ host: "localhost", port, ca: pairs.trusted.authority, maxVersion: "TLSv1.1", minVersion: "TLSv1.1" });
  old.on("error", () => undefined);
  await Promise.all([plain, silent, old].map((socket) => new Promise<void>((resolve) => socket.once("close", () => resolve()))));
  expect(await overHttp1(pairs.trusted.authority)).toBe("1.1 true");
});
