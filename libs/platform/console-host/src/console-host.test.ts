/** Behaviour that browsers rely on: the right encoding, the right caching, and a page in which only our scripts run. */
import { mkdir, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { createServer, request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { type ConsoleHost, openConsole } from "./index.js";
import { FILE_BYTES_MAX } from "./limits.js";
import { TINY_SCRIPT, TINY_SCRIPT_PATH, type TinyConsole, writeTinyConsole } from "./testing/index.js";

const BOOT = {
  kind: "local",
  ingressUrl: "http://localhost:8080/",
  note: "</script><script>alert(1)</script><!-- __NONCE__ $& \u2028",
};
const OPTIONS = { base: "/ui/", csp: { connect: ["http://localhost:8080"] } };

let tiny: TinyConsole;
const closing: (() => Promise<unknown>)[] = [];
beforeEach(async () => {
  tiny = await writeTinyConsole();
});
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  await tiny[Symbol.asyncDispose]();
});

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

type RequestFunction = (path: string, headers?: Record<string, string>, method?: string) => Promise<Answer>;

/** Answers 599 what the console does not take. */
async function serve(host: ConsoleHost | undefined): Promise<RequestFunction> {
  const server = createServer((req, res) => {
    if (host?.handle(req, res, BOOT) !== true) res.writeHead(599).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => new Promise((resolve) => server.close(resolve)));
  const { port } = server.address() as AddressInfo;
  return (path, headers = {}, method = "GET") =>
    new Promise((resolve, reject) => {
      const outgoing = httpRequest({ host: "127.0.0.1", port, path, method, headers, agent: false }, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
        );
      });
      outgoing.on("error", reject);
      outgoing.end();
    });
}

async function open(): Promise<RequestFunction> {
  return await serve(await openConsole(tiny.directory, OPTIONS));
}

const SCRIPT = `/ui/${TINY_SCRIPT_PATH}`;

describe("the page", () => {
  test.each([
    "/ui/",
    "/ui/index.html",
    "/ui/invocations/inv_1?q=1",
    "/ui/state/a%2Fb/%2e%2e",
    "/ui/../../etc/passwd",
    "/ui/%2e%2e%2findex.html",
  ])("is what %s shows", async (path) => {
    const request = await open();
    const { status, headers, body } = await request(path);
    expect([status, headers["content-type"], headers["cache-control"]]).toEqual([200, "text/html; charset=utf-8", "no-cache"]);
    expect(body.toString()).toContain('<base href="/ui/">');
    expect(headers["content-length"]).toBe(String(body.length));
    expect(headers).not.toHaveProperty("etag");
  });

  test("lets only scripts with its own nonce run, which is another one each time", async () => {
    const request = await open();
    const nonces = new Set<string>();
    for (let i = 0; i < 20; i++) {
      const { headers, body } = await request("/ui/");
      const nonce = /'nonce-([\w-]{22})'/.exec(headers["content-security-policy"] as string)?.[1] ?? "none";
      nonces.add(nonce);
      expect(headers["content-security-policy"]).toBe(
        `default-src 'none'; script-src 'self' 'nonce-${nonce}'; style-src 'self' 'nonce-${nonce}'; img-src 'self' data:; ` +
          "font-src 'self'; connect-src 'self' http://localhost:8080; base-uri 'self'; form-action 'self'; frame-ancestors 'none'; " +
          "object-src 'none'",
      );
      const text = body.toString();
      expect(text).toContain(`<meta property="csp-nonce" content="${nonce}">`);
      expect(text).toContain(`<script type="module" nonce="${nonce}"`);
    }
    expect(nonces.size).toBe(20);
  });

  test("has headers that restrict its use", async () => {
    const request = await open();
    const { headers } = await request("/ui/");
    expect(headers).toMatchObject({
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "x-frame-options": "DENY",
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-resource-policy": "same-origin",
      "permissions-policy": expect.stringContaining("camera=()"),
    });
    expect(headers).not.toHaveProperty("access-control-allow-origin");
  });

  test("gets its boot data as JSON that cannot leave its element", async () => {
    const request = await open();
    const text = (await request("/ui/")).body.toString();
    const bootJson = /<script type="application\/json" id="boot">(.*?)<\/script>/s.exec(text)?.[1] ?? "";
    expect(JSON.parse(bootJson)).toEqual(BOOT);
    expect(bootJson).not.toMatch(/[<>&\u2028]/);
    expect(text.match(/<\/script>/g)).toHaveLength(2);
  });

  test("may get other origins for one answer, but not another policy", async () => {
    const host = await openConsole(tiny.directory, OPTIONS);
    const refused: unknown[] = [];
    const server = createServer((req, res) => {
      try {
        host?.handle(req, res, BOOT, [req.headers["x-origin"] as string]);
      } catch (cause) {
        refused.push(cause);
        res.writeHead(500).end();
      }
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    closing.push(() => new Promise((resolve) => server.close(resolve)));
    const { port } = server.address() as AddressInfo;
    const request = (origin: string) => fetch(`http://127.0.0.1:${port}/ui/`, { headers: { "x-origin": origin } });
    expect((await request("http://box:8080")).headers.get("content-security-policy")).toContain(
      "connect-src 'self' http://box:8080;",
    );
    for (const origin of ["*", "http://a; script-src *", "http://a b", "http://a/", "'unsafe-inline'"]) {
      expect((await request(origin)).status).toBe(500);
    }
    expect(refused).toHaveLength(5);
  });
});

describe("assets", () => {
  test.each([
    ["br", "gzip, deflate, br, zstd"],
    ["gzip", "gzip, deflate"],
    ["gzip", "br;q=0.5, gzip"],
    ["gzip", "br;q=0, *"],
    ["br", "*"],
    ["br", "identity, br"],
    [undefined, "br;q=0.2, identity"],
    [undefined, ""],
    [undefined, "zstd"],
    [undefined, "br;q=0, gzip;q=0, identity;q=0"],
  ])("come as %s for who accepts %j", async (encoding, accepted) => {
    const request = await open();
    const { status, headers, body } = await request(SCRIPT, { "accept-encoding": accepted });
    expect([status, headers["content-encoding"], headers.vary]).toEqual([200, encoding, "accept-encoding"]);
    const plain = encoding === "br" ? brotliDecompressSync(body) : encoding === "gzip" ? gunzipSync(body) : body;
    expect(plain.toString()).toBe(TINY_SCRIPT);
  });

  test("with a hash in their name are cached for ever, others are revalidated", async () => {
    const request = await open();
    const script = await request(SCRIPT);
    expect(script.headers).toMatchObject({
      "content-type": "text/javascript; charset=utf-8",
      "cache-control": "public, max-age=31536000, immutable",
      "x-content-type-options": "nosniff",
      "cross-origin-resource-policy": "same-origin",
    });
    const icon = await request("/ui/favicon.svg");
    expect(icon.headers).toMatchObject({ "content-type": "image/svg+xml", "cache-control": "no-cache" });
    expect(icon.headers).not.toHaveProperty("vary");
  });

  test("are not sent to a client that has them, in the form it would get", async () => {
    const request = await open();
    const first = await request(SCRIPT, { "accept-encoding": "br" });
    const etag = first.headers.etag as string;
    for (const validator of [etag, `"x", W/${etag}`, "*"]) {
      const again = await request(SCRIPT, { "accept-encoding": "br", "if-none-match": validator });
      expect([again.status, again.body.length, again.headers.etag, again.headers.vary]).toEqual([
        304,
        0,
        etag,
        "accept-encoding",
      ]);
      expect(again.headers["cache-control"]).toBe(first.headers["cache-control"]);
    }
    expect((await request(SCRIPT, { "accept-encoding": "gzip", "if-none-match": etag })).status).toBe(200);
    expect((await request(SCRIPT, { "accept-encoding": "br", "if-none-match": '"other"' })).status).toBe(200);
  });

  test("that do not exist are not a page", async () => {
    const request = await open();
    for (const path of ["/ui/assets/gone-12345678.js", "/ui/assets/../index.html", "/ui/assets/%2e%2e/secret"]) {
      const { status, headers } = await request(path);
      expect([status, headers["content-type"], headers["cache-control"]]).toEqual([404, "text/plain; charset=utf-8", "no-store"]);
    }
  });

  test("compressed forms have no address of their own", async () => {
    const request = await open();
    expect((await request(`${SCRIPT}.br`)).status).toBe(404);
  });
});

describe("requests", () => {
  test("HEAD has the headers of GET", async () => {
    const request = await open();
    for (const path of [SCRIPT, "/ui/"]) {
      const [head, get] = [await request(path, {}, "HEAD"), await request(path)];
      expect([head.status, head.body.length, head.headers["content-length"]]).toEqual([200, 0, get.headers["content-length"]]);
      expect(Object.keys(head.headers)).toEqual(Object.keys(get.headers));
    }
  });

  test("that are encoded find what they name, and nonsense is refused", async () => {
    const request = await open();
    expect((await request("/ui/assets%2Findex%2DAbCd_123.js")).headers["content-type"]).toBe("text/javascript; charset=utf-8");
    expect((await request("/ui/%ff")).status).toBe(400);
    expect((await request("/ui/%00")).status).toBe(200); // The page itself shows that the address is unknown.
  });

  test.each([
    ["POST", "/ui/"],
    ["OPTIONS", "/ui/"],
    ["GET", "/ui"],
    ["GET", "/uix/"],
    ["GET", "/services"],
    ["GET", "http://a/ui/"],
  ])("%s %s are left to the caller", async (method, path) => {
    const request = await open();
    expect((await request(path, {}, method)).status).toBe(599);
  });

  test("of HTTP/2 are answered alike", async () => {
    const host = await openConsole(tiny.directory, OPTIONS);
    const server = createHttp2Server((req, res) => {
      host?.handle(req, res, BOOT);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const session = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const stream = session.request({ ":path": SCRIPT, "accept-encoding": "br" });
    const headers = await new Promise<IncomingHttpHeaders & { ":status"?: number }>((resolve) =>
      stream.once("response", resolve),
    );
    const chunks: Buffer[] = [];
    for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
    expect([headers[":status"], headers["content-encoding"]]).toEqual([200, "br"]);
    expect(brotliDecompressSync(Buffer.concat(chunks)).toString()).toBe(TINY_SCRIPT);
    await new Promise<void>((resolve) => session.close(resolve));
    await new Promise<void>((resolve) => server.close(() => resolve()));
  });
});

describe("the directory", () => {
  test("that is missing, or has no page, is not a console", async () => {
    expect(await openConsole(join(tiny.directory, "nowhere"), OPTIONS)).toBeUndefined();
    await rm(join(tiny.directory, "index.html"));
    expect(await openConsole(tiny.directory, OPTIONS)).toBeUndefined();
  });

  test("is read once, and links in it lead nowhere", async () => {
    await using elsewhere = await writeTinyConsole();
    await writeFile(join(elsewhere.directory, "secret.txt"), "secret");
    await symlink(join(elsewhere.directory, "secret.txt"), join(tiny.directory, "assets", "secret.txt"));
    await symlink(elsewhere.directory, join(tiny.directory, "assets", "more"));
    const request = await open();
    await writeFile(join(tiny.directory, "favicon.svg"), "<changed/>");
    expect((await request("/ui/assets/secret.txt")).status).toBe(404);
    expect((await request("/ui/assets/more/secret.txt")).status).toBe(404);
    expect((await request("/ui/favicon.svg")).body.toString()).toBe("<svg/>");
  });

  test("that is not the console's is refused", async () => {
    const large = join(tiny.directory, "large");
    await writeFile(large, "");
    await truncate(large, FILE_BYTES_MAX + 1);
    await expect(openConsole(tiny.directory, OPTIONS)).rejects.toMatchObject({ code: "OPS0001" });
    await rm(large);
    await mkdir(join(tiny.directory, "a/b/c/d/e/f/g/h"), { recursive: true });
    await expect(openConsole(tiny.directory, OPTIONS)).rejects.toMatchObject({ code: "OPS0001" });
    await rm(join(tiny.directory, "a"), { recursive: true });
    await writeFile(join(tiny.directory, "index.html"), "<h1>Hello __NONCE__</h1>");
    await expect(openConsole(tiny.directory, OPTIONS)).rejects.toMatchObject({ code: "OPS0001" });
  });

  test("needs a valid base and valid origins", async () => {
    for (const base of ["ui/", "/ui", '/"><script>/', "//"]) {
      await expect(openConsole(tiny.directory, { ...OPTIONS, base })).rejects.toMatchObject({ code: "OPS0001" });
    }
    const csp = { connect: ["http://a; script-src *"] };
    await expect(openConsole(tiny.directory, { ...OPTIONS, csp })).rejects.toMatchObject({ code: "OPS0001" });
    expect(await openConsole(tiny.directory, { base: "/", csp: { connect: [] } })).toBeDefined();
  });
});
