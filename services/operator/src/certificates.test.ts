import { connect, createServer, type TLSSocket } from "node:tls";
import { afterEach, describe, expect, test } from "@jest/globals";
import { endOf, isFor, issueCertificate, type KeyedCertificate, newAuthority, renewAuthority } from "./certificates.js";

const NAMES = { dns: ["*.worker-headless.env-1.svc.cluster.local", "localhost"], ip: ["127.0.0.1"] };
const DAY_MS = 86_400_000;
const nowMs = Date.now();
const opened: (() => void)[] = [];
afterEach(() => {
  for (const close of opened.splice(0).reverse()) close();
});

/** Whether a client connects to a server that requires a client certificate. */
async function meets(server: KeyedCertificate, client: KeyedCertificate, trusted: string, servername: string): Promise<boolean> {
  const listener = createServer({
    cert: server.certificate,
    key: server.privateKey.reveal(),
    ca: trusted,
    requestCert: true,
    rejectUnauthorized: true,
  });
  listener.on("secureConnection", (socket: TLSSocket) => {
    socket.on("error", () => socket.destroy());
    socket.end("hello");
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  opened.push(() => listener.close());
  const { port } = listener.address() as { readonly port: number };
  const shown = { cert: client.certificate, key: client.privateKey.reveal() };
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port, servername, ca: trusted, ...shown });
    opened.push(() => socket.destroy());
    socket.on("data", () => resolve(true));
    socket.on("error", () => resolve(false));
    socket.on("close", () => resolve(false));
  });
}

describe("certificates of an environment", () => {
  test("let its processes connect under all their names, and no process of another environment", async () => {
    const ours = await newAuthority("ours", nowMs);
    const theirs = await newAuthority("theirs", nowMs);
    const one = await issueCertificate(ours, NAMES, nowMs);
    const untrusted = await issueCertificate(theirs, NAMES, nowMs);
    const name = "worker-0.worker-headless.env-1.svc.cluster.local";
    expect(await meets(one, one, ours.certificate, name)).toBe(true);
    expect(await meets(one, one, ours.certificate, "localhost")).toBe(true);
    expect(await meets(one, one, ours.certificate, "worker-0.worker-headless.env-2.svc.cluster.local")).toBe(false);
    expect(await meets(one, untrusted, ours.certificate, name)).toBe(false);
    expect(await meets(untrusted, one, ours.certificate, name)).toBe(false);
  });

  test("of a renewed authority are accepted by processes that have only its earlier certificate, and the other way round", async () => {
    const before = await newAuthority("ours", nowMs - DAY_MS);
    const after = await renewAuthority("ours", before, nowMs);
    expect(after.certificate).not.toBe(before.certificate);
    const old = await issueCertificate(before, NAMES, nowMs);
    const fresh = await issueCertificate(after, NAMES, nowMs);
    expect(await meets(fresh, old, before.certificate, "localhost")).toBe(true);
    expect(await meets(old, fresh, after.certificate, "localhost")).toBe(true);
  });

  test("contain their expiry and the names they are for", async () => {
    const authority = await newAuthority("ours", nowMs);
    const { certificate } = await issueCertificate(authority, NAMES, nowMs);
    expect(Math.round((endOf(certificate) - nowMs) / DAY_MS)).toBe(90);
    expect([isFor(certificate, NAMES), isFor(certificate, { ...NAMES, dns: ["elsewhere"] })]).toEqual([true, false]);
  });
});
