/**
 * Serves the console for every host that has a path for it. Assets are answered from memory in the encoding that the client prefers and may
 * be cached for ever; every other path below the base is the page, because the page routes by its own paths.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import { PerdureError, present } from "@perdure/base";
import { type BuiltFile, builtConsole } from "./built-console.js";
import { formFor, names } from "./negotiate.js";
import { newNonce, type PageTemplate, pageTemplate, policyOf } from "./page.js";

type AnyRequest = IncomingMessage | Http2ServerRequest;
type AnyResponse = ServerResponse | Http2ServerResponse;

interface ConsoleHostOptions {
  /** Path of the console: `/` or `/ui/`. */
  readonly base: string;
  readonly csp: {
    /** Origins that the page may call beside its own, for instance `http://localhost:8080`. */
    readonly connect: readonly string[];
  };
}

export interface ConsoleHost {
  /**
   * Answers a GET or HEAD below the base and returns whether it did; the caller answers everything else. `boot` is the JSON that the page
   * gets at its start; each client that may load the page can read it, so it holds no secret. `connect` replaces the one of
   * `ConsoleOptions` for this answer.
   */
  handle(req: AnyRequest, res: AnyResponse, boot: unknown, connect?: readonly string[]): boolean;
}

/**
 * Reads the built console. Undefined when it has not been built. Rejects with OPS0001 when the directory holds other files, or when an
 * option could change the content security policy.
 */
export async function openConsole(directory: string, { base, csp }: ConsoleHostOptions): Promise<ConsoleHost | undefined> {
  if (!BASE.test(base)) throw new PerdureError("OPS0001", `'${base}' is not a path that begins and ends with a slash`);
  checkOrigins(csp.connect);
  const built = await builtConsole(directory);
  if (built === undefined) return undefined;
  return new FileConsoleHost(pageTemplate(built.page, base), built.files, base, csp.connect);
}

const BASE = /^\/(?:[\w.-]+\/)*$/;

/** An origin as browsers serialise it: a policy has no way to quote. */
const ORIGIN = /^https?:\/\/(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;

function checkOrigins(origins: readonly string[]): void {
  for (const origin of origins) {
    if (!ORIGIN.test(origin)) throw new PerdureError("OPS0001", `'${origin}' is not an origin like https://example.com`);
  }
}

/** Headers of every answer. The page may load only what this origin serves, and no other origin may frame it. */
const COMMON: Readonly<Record<string, string>> = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

/** Permissions that the page needs: only the clipboard, and only to write. */
const PERMISSIONS =
  "accelerometer=(), camera=(), clipboard-read=(), display-capture=(), geolocation=(), gyroscope=(), magnetometer=(), microphone=(), midi=(), payment=(), usb=()";

/** The build puts files with a hash in their name here. A page in place of such a file would be parsed as a script. */
const ASSETS = "assets/";

class FileConsoleHost implements ConsoleHost {
  readonly #page: PageTemplate;
  readonly #files: ReadonlyMap<string, BuiltFile>;
  readonly #base: string;
  readonly #connect: readonly string[];

  constructor(page: PageTemplate, files: ReadonlyMap<string, BuiltFile>, base: string, connect: readonly string[]) {
    this.#page = page;
    this.#files = files;
    this.#base = base;
    this.#connect = connect;
  }

  handle(req: AnyRequest, res: AnyResponse, boot: unknown, connect = this.#connect): boolean {
    if (req.method !== "GET" && req.method !== "HEAD") return false;
    const path = pathOf(req.url ?? "");
    if (!path.startsWith(this.#base)) return false;
    const name = decoded(path.slice(this.#base.length));
    if (name === undefined) refuse(req, res, 400, "This address is not percent-encoded UTF-8.\n");
    else if (this.#files.has(name)) answerFile(req, res, present(this.#files.get(name)));
    else if (name.startsWith(ASSETS)) refuse(req, res, 404, "There is no such file of the console; load the page again.\n");
    else this.#answerPage(req, res, boot, connect);
    return true;
  }

  /** The page differs on each request (nonce), so it has no validator, and a browser requests it again each time. */
  #answerPage(req: AnyRequest, res: AnyResponse, boot: unknown, connect: readonly string[]): void {
    if (connect !== this.#connect) checkOrigins(connect);
    const nonce = newNonce();
    const page = Buffer.from(this.#page(nonce, boot));
    write(req, res, 200, page, {
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-cache",
      "content-security-policy": policyOf(nonce, connect),
      "permissions-policy": PERMISSIONS,
    });
  }
}

function answerFile(req: AnyRequest, res: AnyResponse, file: BuiltFile): void {
  const form = formFor(file.forms, headerOf(req, "accept-encoding"));
  const headers: Record<string, string> = {
    "cache-control": file.isImmutable ? "public, max-age=31536000, immutable" : "no-cache",
    etag: form.etag,
  };
  if (file.forms.length > 1) headers["vary"] = "accept-encoding";
  if (names(headerOf(req, "if-none-match"), form.etag)) {
    writeHead(res, 304, headers);
    res.end();
    return;
  }
  headers["content-type"] = file.contentType;
  if (form.encoding !== "identity") headers["content-encoding"] = form.encoding;
  write(req, res, 200, form.bytes, headers);
}

/** What both kinds of response have. */
interface HeadWriter {
  writeHead(status: number, headers: Readonly<Record<string, string>>): unknown;
}

function refuse(req: AnyRequest, res: AnyResponse, status: number, text: string): void {
  const headers = { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" };
  write(req, res, status, Buffer.from(text), headers);
}

function write(req: AnyRequest, res: AnyResponse, status: number, body: Buffer, headers: Readonly<Record<string, string>>): void {
  writeHead(res, status, { ...headers, "content-length": String(body.length) });
  if (req.method === "HEAD") res.end();
  else res.end(body);
}

function writeHead(res: HeadWriter, status: number, headers: Readonly<Record<string, string>>): void {
  res.writeHead(status, { ...COMMON, ...headers });
}

function headerOf(req: AnyRequest, name: string): string | undefined {
  const value = req.headers[name];
  return Array.isArray(value) ? value.join(",") : value;
}

function pathOf(target: string): string {
  const end = target.search(/[?#]/);
  return end < 0 ? target : target.slice(0, end);
}

/** Undefined when the path has an invalid encoding. */
function decoded(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch (cause) {
    if (cause instanceof URIError) return undefined;
    throw cause;
  }
}
