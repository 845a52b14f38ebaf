/** A request as routes see it: parsed and bounded, independent of the server. */
import { causeMessage, fromUtf8Strict, unreachable } from "@perdure/base";
import { type BodyGate, BodyNotRead, readWholeBody } from "@perdure/http-server";
import type { z } from "zod";
import { REQUEST_BODY_BYTES_MAX } from "../limits.js";
import { RouteError } from "./errors.js";
import type { AnyRequest } from "./respond.js";

/** Versions of the interface that a path can select. */
export const API_VERSIONS = [2, 3, 4] as const;
/** Undefined without a prefix: the newest behaviour. */
export type ApiVersion = (typeof API_VERSIONS)[number] | undefined;

export class ApiRequest {
  readonly version: ApiVersion;
  /** Decoded path parameters. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** Path and query as the client wrote them. */
  readonly target: string;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
  readonly #req: AnyRequest;
  readonly #bodies: BodyGate;

  constructor(
    req: AnyRequest,
    version: ApiVersion,
    params: Readonly<Record<string, string>>,
    signal: AbortSignal,
    bodies: BodyGate,
  ) {
    this.#req = req;
    this.#bodies = bodies;
    this.version = version;
    this.params = params;
    this.signal = signal;
    const url = req.url ?? "/";
    this.target = "originalUrl" in req && typeof req.originalUrl === "string" ? req.originalUrl : url;
    const mark = url.indexOf("?");
    this.query = new URLSearchParams(mark < 0 ? "" : url.slice(mark + 1));
  }

  /** A path parameter that the route declares. */
  param(name: string): string {
    return this.params[name] ?? "";
  }

  /** The whole header as sent, or `undefined`. */
  header(name: string): string | undefined {
    const value = this.#req.headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  }

  /** `true` or `false` of the query; `fallback` when it is absent. Anything else is 400. */
  flag(name: string, fallback: boolean): boolean {
    const value = this.query.get(name);
    if (value === null) return fallback;
    if (value === "true") return true;
    if (value === "false") return false;
    throw badQuery(`${name}: provided string was not \`true\` or \`false\``);
  }

  /**
   * The JSON body in the shape of `schema`. Throws `RouteError` 415 (content type is not JSON), 413 (longer than `bytesMax`), 429 (too many
   * bodies at once), 400 (malformed JSON, or fields unknown to a strict schema) or 422 (wrong shape).
   */
  async json<T>(schema: z.ZodType<T>, bytesMax = REQUEST_BODY_BYTES_MAX): Promise<T> {
    if (!isJson(this.header("content-type"))) throw new RouteError(415, "Expected request with `Content-Type: application/json`");
    const body = fromUtf8Strict(await this.bytes(bytesMax));
    // Lenient decoding would store other text than the client sent.
    if (body === undefined) throw new RouteError(400, "Failed to parse the request body as JSON: it is not UTF-8");
    let value: unknown;
    try {
      value = JSON.parse(body);
    } catch (cause) {
      throw new RouteError(400, `Failed to parse the request body as JSON: ${causeMessage(cause)}`);
    }
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    const unknown = unknownFields(parsed.error);
    if (unknown !== undefined) throw new RouteError(400, `The request body has unknown fields: ${unknown}`);
    throw new RouteError(422, `Failed to deserialize the JSON body into the target type: ${firstIssue(parsed.error)}`);
  }

  /** The raw body. Throws `RouteError` 413 or 429 as `json` does, 408 when it takes too long, 400 when it breaks off. */
  async bytes(bytesMax = REQUEST_BODY_BYTES_MAX): Promise<Uint8Array> {
    if (Number(this.header("content-length")) > bytesMax) throw this.#tooLong(bytesMax);
    try {
      return await readWholeBody(this.#req, this.#bodies, bytesMax);
    } catch (cause) {
      throw cause instanceof BodyNotRead ? this.#notRead(cause.failure, bytesMax) : cause;
    }
  }

  #notRead(failure: BodyNotRead["failure"], bytesMax: number): RouteError {
    switch (failure) {
      case "tooLarge":
        return this.#tooLong(bytesMax);
      case "overBudget":
        return this.#unread(429, "Too many large requests at once");
      case "tooSlow":
        return this.#unread(408, "The request body did not arrive in time");
      case "brokenOff":
        return new RouteError(400, "The request body broke off");
      default:
        return unreachable(failure);
    }
  }

  #tooLong(bytesMax: number): RouteError {
    return this.#unread(413, `The request body is longer than ${bytesMax} bytes`);
  }

  /** The rest of the body is not read; HTTP/1.1 must close the connection for that, HTTP/2 has no such header. */
  #unread(status: number, detail: string): RouteError {
    const headers: Record<string, string> = this.#req.httpVersionMajor === 1 ? { connection: "close" } : {};
    return new RouteError(status, detail, undefined, headers);
  }
}

export function badQuery(detail: string): RouteError {
  return new RouteError(400, `Failed to deserialize query string: ${detail}`);
}

function isJson(contentType: string | undefined): boolean {
  const essence = (contentType ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
  return essence === "application/json" || (essence.startsWith("application/") && essence.endsWith("+json"));
}

/** Returns the error for unknown fields. Without this check a misspelt field would count as an absent one. */
function unknownFields(error: z.ZodError): string | undefined {
  const names = error.issues.flatMap((issue) =>
    issue.code === "unrecognized_keys" ? issue.keys.map((key) => [...issue.path.map(String), key].join(".")) : [],
  );
  return names.length === 0 ? undefined : names.map((name) => `'${name}'`).join(", ");
}

function firstIssue(error: z.ZodError): string {
  const issue = error.issues[0];
  return issue === undefined ? "unexpected shape" : issueText(issue);
}

function issueText(issue: z.core.$ZodIssue): string {
  const [nested] = issue.code === "invalid_union" ? likeliestAlternative(issue.errors) : [];
  if (nested !== undefined) return issueText({ ...nested, path: [...issue.path, ...nested.path] });
  const path = issue.path.map((part, index) =>
    typeof part === "number" ? `[${part}]` : `${index > 0 ? "." : ""}${String(part)}`,
  );
  if (path.length === 0) return issue.message;
  return isMissing(issue) ? `missing field \`${path.join("")}\`` : `${path.join("")}: ${issue.message}`;
}

/** The issues of the alternative of a union that the body comes closest to: the fewest mistakes, a missing field counted twice. */
function likeliestAlternative(alternatives: readonly (readonly z.core.$ZodIssue[])[]): readonly z.core.$ZodIssue[] {
  const cost = (issues: readonly z.core.$ZodIssue[]) => issues.reduce((sum, issue) => sum + (isMissing(issue) ? 2 : 1), 0);
  return alternatives.toSorted((a, b) => cost(a) - cost(b))[0] ?? [];
}

function isMissing(issue: z.core.$ZodIssue): boolean {
  return issue.code === "invalid_type" && issue.message.endsWith("received undefined");
}
