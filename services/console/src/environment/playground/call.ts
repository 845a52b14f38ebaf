/** A call as it is written in the playground, and its errors before it is sent. Pure. */
import type { HandlerInput, HandlerMetadata, ServiceMetadata } from "@perdure/admin-client";
import { exampleOf } from "../schema/example.js";
import { problemsOf, type SchemaProblem } from "../schema/validate.js";
import { isKeyed } from "../services/service-text.js";
import { bodyOf, readBody } from "./schema-form.js";

export const WAYS = ["call", "send", "delayed"] as const;
/** Wait for the answer; send without waiting; send with a delay. */
export type CallMode = (typeof WAYS)[number];

export interface Extras {
  readonly idempotencyKey: string;
  /** A line for each: `name: value`. */
  readonly headers: string;
  readonly scope: string;
  readonly limitKey: string;
  /** `1` to `5`; empty for the server's default. */
  readonly priority: string;
  /** Such as `10s`. */
  readonly delay: string;
  /** Content type of a body that is not JSON. */
  readonly contentType: string;
}

export const NO_EXTRAS: Extras = {
  idempotencyKey: "",
  headers: "",
  scope: "",
  limitKey: "",
  priority: "",
  delay: "10s",
  contentType: "",
};

type BodyKind = "none" | "json" | "text";

/** The kind of body that a handler takes. */
export function bodyKindOf({ input_description: takes, input_json_schema: schema }: HandlerMetadata): BodyKind {
  if (schema !== undefined || /json|\*\/\*|^any/i.test(takes)) return "json";
  return takes === "none" ? "none" : "text";
}

/** An example to begin with; empty where the schema is missing. */
export function firstBody(handler: HandlerMetadata): string {
  const schema = handler.input_json_schema;
  return schema === undefined || bodyKindOf(handler) !== "json" ? "" : bodyOf(exampleOf(schema));
}

export interface Draft {
  readonly service: ServiceMetadata;
  readonly handler: HandlerMetadata;
  readonly key: string;
  readonly way: CallMode;
  readonly body: string;
  readonly extras: Extras;
}

/** The schema's errors for the body; empty when it is not JSON at all. */
export function bodyProblems({ input_json_schema: schema }: HandlerMetadata, body: string): readonly SchemaProblem[] {
  if (schema === undefined) return [];
  const reading = readBody(body);
  if (reading.kind === "none") return [{ path: "", message: "a body is required" }];
  return reading.kind === "value" ? problemsOf(reading.value, schema) : [];
}

/** Why the call cannot be sent at all. */
export function obstacleOf({ service, handler, key, way, body, extras }: Draft): string | undefined {
  if (isKeyed(service) && key === "") return "A key is required";
  if (!handler.public || !service.public) return "The service is private: only other handlers can call it";
  if (bodyKindOf(handler) === "json" && readBody(body).kind === "broken") return "The body is not valid JSON";
  if (way === "delayed" && extras.delay.trim() === "") return "Enter a delay such as 10s";
  return headersOf(extras.headers).problem;
}

interface ReadHeaders {
  readonly headers: Readonly<Record<string, string>>;
  readonly problem: string | undefined;
}

/** `name: value`, a line each; names in lower case. */
function headersOf(text: string): ReadHeaders {
  const headers: Record<string, string> = {};
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const colon = line.indexOf(":");
    const name = line.slice(0, Math.max(colon, 0)).trim().toLowerCase();
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name))
      return { headers, problem: `“${line.trim()}” is not a header: write name: value` };
    headers[name] = line.slice(colon + 1).trim();
  }
  return { headers, problem: undefined };
}

/** Arguments of the client. */
export function inputOf({ handler, body, extras }: Draft): Omit<HandlerInput, "signal"> {
  const kind = bodyKindOf(handler);
  const hasBody = kind !== "none" && body !== "";
  const contentType = kind === "text" ? extras.contentType || typeOf(handler) : undefined;
  return {
    body: hasBody ? body : undefined,
    contentType: hasBody ? contentType : undefined,
    idempotencyKey: extras.idempotencyKey || undefined,
    headers: headersOf(extras.headers).headers,
    scope: extras.scope || undefined,
    limitKey: extras.limitKey || undefined,
    priority: extras.priority === "" ? undefined : Number(extras.priority),
  };
}

/** The content type that a handler without JSON requires; patterns such as `text/*` name none. */
export function typeOf({ input_description: takes }: HandlerMetadata): string {
  return /^[\w.+-]+\/[\w.+-]+$/.test(takes) ? takes : "text/plain";
}

/** `0`, `0s`, `0ms`: nothing of an invocation is kept after its end, so its result cannot be requested then. */
export function isNotRetained({ service, handler, extras }: Pick<Draft, "service" | "handler" | "extras">): boolean {
  if (extras.idempotencyKey !== "" || handler.ty === "Workflow") return false;
  return /^0\s*[a-z]*$/.test(handler.journal_retention ?? service.journal_retention ?? "");
}
