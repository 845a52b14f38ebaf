/**
 * Why: Node throws the `error` event of a socket, session or stream that has no listener, and one such exception ends a program for all of its
 * users. So the first statement of every handler that receives one, and of every piece of code that creates one, attaches a listener; this
 * is checked on the sources themselves.
 */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { ROOT } from "@perdure/dev-cluster";

const NOT_CHECKED: ReadonlySet<string> = new Set(["node_modules", "dist", "gen", "test", "testing", "testdata", "bench"]);
/** Packages that never run in production. */
const FOR_TESTS = /^(libs\/testing|deploy\/examples)\//;

function sourcesBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return NOT_CHECKED.has(entry.name) ? [] : sourcesBelow(path);
    return path.endsWith(".ts") && !path.endsWith(".test.ts") && !FOR_TESTS.test(path) ? [path] : [];
  });
}

const sources = ["libs", "services", "deploy"]
  .flatMap(sourcesBelow)
  .map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") }));

/** Events whose listener receives something that can emit `error`, and which parameter that is. */
const EVENTS: Readonly<Record<string, number>> = {
  stream: 0,
  session: 0,
  connection: 0,
  secureConnection: 0,
  tlsClientError: 1,
  clientError: 1,
  connect: 1,
  upgrade: 1,
};
const HANDLER = new RegExp(`\\.(?:on|once|prependListener)\\(\\s*(?:"(${Object.keys(EVENTS).join("|")})"|event),\\s*`, "g");
/** Servers of `node:net` and `node:tls` are given their handler; those of `node:http` and `node:http2` are given one of requests. */
const SERVER = /\b(?:createServer|createTlsServer)\((?:\{[^{}]*\},\s*)?(?=\()/g;
const CREATED =
  /(?:const (\w+)|(this\.#\w+)) =\s*(?:\w+ === undefined\s*\?\s*)?(?:[\w.#()]*\.)?(?:connect|tcpConnect|tlsConnect|connectTls|createConnection|performServerHandshake|duplexPair|request|httpRequest|httpsRequest|http1Request|send)\(/g;
const CLIENT_SESSION = /\bimport [^;]*\bconnect\b[^;]* from "node:http2"/;

/** What makes connections must come from Node: clients of Redis and of the SDK have functions of the same names. */
const OF_NODE = /\bfrom "node:(?:net|tls|https?|http2|stream)"/;
const importsConnect = (text: string): boolean =>
  [...text.matchAll(/^import [^;]*;/gm)].some(
    ([line]) =>
      OF_NODE.test(line) &&
      /\b(connect|createConnection|performServerHandshake|duplexPair|request|ClientHttp2Session)\b/.test(line),
  );

/** Where the call or list that is open at `from` is closed. */
function endOf(text: string, from: number): number {
  let depth = 1;
  let at = from;
  for (; depth > 0 && at < text.length; at++) {
    if ("([{".includes(text[at] as string)) depth++;
    else if (")]}".includes(text[at] as string)) depth--;
  }
  return at;
}

const withoutComments = (text: string): string => text.replace(/^\s*\/\/.*$|\s\/\/ .*$|\/\*[\s\S]*?\*\//gm, "");

interface Handler {
  readonly parameters: readonly string[];
  /** The source from the first statement on; undefined for an expression without braces. */
  readonly body: string | undefined;
}

/** An arrow function at the start of the text, or the one that it names. */
function handlerAt(text: string, at: number): Handler | undefined {
  const name = /^(\w+)\b(?!\s*\()/.exec(text.slice(at))?.[1];
  const start = name === undefined ? at : (new RegExp(`const ${name} = (?=\\()`).exec(text)?.index ?? -1);
  if (start < 0) return undefined;
  const open = text.indexOf("(", start);
  const close = endOf(text, open + 1);
  const parameters = text
    .slice(open + 1, close - 1)
    .replace(/\([^()]*\) => \w+/g, "")
    .split(",")
    .map((parameter) => parameter.trim().replace(/:.*$/s, ""));
  const body = /^(?::[^=]*)?\s*=>\s*\{\s*/.exec(text.slice(close));
  return { parameters, body: body === null ? undefined : text.slice(close + body[0].length) };
}

/** Whether the text begins with a statement that gives `name` a listener for its errors. */
function handlesErrors(text: string, name: string): boolean {
  return text.startsWith(`handleErrors(${name}`) || text.startsWith(`${name}.on("error"`);
}

function unhandledHandlers(text: string, pattern: RegExp, parameterOf: (match: RegExpMatchArray) => number): string[] {
  return [...text.matchAll(pattern)].flatMap((match) => {
    const handler = handlerAt(text, match.index + match[0].length);
    const parameter = handler?.parameters[parameterOf(match)];
    // A client's session and socket say `connect` without a socket.
    if (handler !== undefined && parameter === undefined) return [];
    if (handler?.parameters.length === 1 && parameter === "") return [];
    return handler?.body !== undefined && handlesErrors(handler.body, parameter as string) ? [] : [match[0].trim()];
  });
}

function violationsOf(source: string): string[] {
  const text = withoutComments(source);
  const handlers = unhandledHandlers(text, HANDLER, ([, event]) => EVENTS[event ?? "connection"] as number);
  const servers = unhandledHandlers(text, SERVER, () => 0);
  const created = (importsConnect(text) ? [...text.matchAll(CREATED)] : []).flatMap((match) => {
    const [whole, variable, field] = match;
    const end = text.indexOf(";\n", endOf(text, match.index + whole.length)) + 1;
    const next = text.slice(end).trimStart();
    return handlesErrors(next, (variable ?? field) as string) ? [] : [whole];
  });
  return [...handlers, ...servers, ...created];
}

describe("errors of connections", () => {
  test("have a listener before anything else happens in every handler and behind every connection that is made", () => {
    const wrong = sources.flatMap(({ path, text }) => violationsOf(text).map((violation) => `${path}: ${violation}`));
    expect(wrong).toEqual([]);
  });

  test("are found where there are some", () => {
    const handlers = sources.filter(({ text }) => [...text.matchAll(HANDLER), ...text.matchAll(SERVER)].length > 0);
    const makers = sources.filter(({ text }) => [...text.matchAll(CREATED)].length > 0);
    expect(handlers.length).toBeGreaterThan(5);
    expect(makers.length).toBeGreaterThan(5);
  });

  test.each([
    'http2.on("stream", (stream, headers) => take(stream));',
    'http2.on("stream", (stream) => {\n  if (stream.destroyed) return;\n  handleErrors(stream);\n});',
    'http1.on("connect", (_req, socket: Duplex) => refuse(socket));',
    'const onStream = (stream: Stream): void => {\n  take(stream);\n};\nhttp2.on("stream", onStream as never);',
    "const server = createServer((socket) => {\n  sockets.add(socket);\n});",
    'const server = createServer({ noDelay: true }, (socket) => {\n  socket.write("hello");\n});',
    'import { connect } from "node:net";\nconst socket = connect({ port, host });\nsocket.setNoDelay(true);',
    'import { connect } from "node:http2";\nthis.#session = connect(origin, {\n  a: {},\n});\nthis.#session.ping();',
  ])("are found missing in %j", (source) => {
    expect(violationsOf(source)).toHaveLength(1);
  });

  test.each([
    'http2.on("stream", (stream) => {\n  // The first.\n  handleErrors(stream);\n  take(stream);\n});',
    'http1.on("clientError", (cause: Error, socket: Duplex) => {\n  handleErrors(socket);\n});',
    'session.once("connect", () => session.ping());',
    'import { connect } from "node:net";\nconst socket = connect({ port });\nsocket.on("error", reject);',
    'import { connect } from "./link.js";\nconst client = connect({ port });\nclient.get();',
  ])("are found in %j", (source) => {
    expect(violationsOf(source)).toEqual([]);
  });

  test("a client of HTTP/2 accepts no pushes: streams that it did not request would have no listener", () => {
    const wrong = sources
      .filter(({ text }) => CLIENT_SESSION.test(text) && !text.includes("enablePush: false"))
      .map(({ path }) => path);
    expect(wrong).toEqual([]);
  });
});
