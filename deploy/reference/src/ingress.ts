/** The page of the ingress. Its rows are data, so that the suite can compare them with the routes, headers and refusals of the code. */
import { catalogue, type ErrorCode } from "@perdure/base";
import * as refusals from "@perdure/ingress-gateway/refusals";
import { code, type Page, page, prose, table } from "./markdown.js";

/** `kind` is the kind of the route that the path leads to. */
interface PathRow {
  readonly methods: string;
  readonly path: string;
  readonly kind: string;
  readonly meaning: string;
}

const CALL = "Call and wait for the result: 200 with the output of the handler";
const SEND = "Start without waiting: 202 with `invocationId` and `status`";

export const PATHS: readonly PathRow[] = [
  { methods: "POST, GET", path: "/{service}/{handler}", kind: "call", meaning: CALL },
  { methods: "POST, GET", path: "/{object}/{key}/{handler}", kind: "call", meaning: `${CALL}; of an object or workflow` },
  { methods: "POST, GET", path: "/{service}/{handler}/send", kind: "send", meaning: SEND },
  { methods: "POST, GET", path: "/{object}/{key}/{handler}/send", kind: "send", meaning: `${SEND}; of an object or workflow` },
  { methods: "POST, GET", path: "/restate/call/{service}/{handler}", kind: "call", meaning: "The same as the first form" },
  { methods: "POST, GET", path: "/restate/call/{object}/{key}/{handler}", kind: "call", meaning: "The same as the second form" },
  { methods: "POST, GET", path: "/restate/send/{service}/{handler}", kind: "send", meaning: "The same as the third form" },
  { methods: "POST, GET", path: "/restate/send/{object}/{key}/{handler}", kind: "send", meaning: "The same as the fourth form" },
  {
    methods: "POST, GET",
    path: "/restate/scope/{scope}/call/{service}/{handler}",
    kind: "call",
    meaning: "Call in a scope of [flow control](../flow-control.md)",
  },
  {
    methods: "POST, GET",
    path: "/restate/scope/{scope}/send/{service}/{handler}",
    kind: "send",
    meaning: "Send in a scope",
  },
  { methods: "GET", path: "/restate/attach/{invocationId}", kind: "attach", meaning: "Wait for the result of an invocation" },
  {
    methods: "GET",
    path: "/restate/output/{invocationId}",
    kind: "output",
    meaning: "The result of an invocation, or 470 when it has not completed",
  },
  { methods: "POST", path: "/restate/attach", kind: "attach", meaning: "Attach; the target is in the body" },
  { methods: "POST", path: "/restate/output", kind: "output", meaning: "Output; the target is in the body" },
  { methods: "POST", path: "/restate/lookup", kind: "lookup", meaning: "The invocation id of a target in the body" },
  { methods: "GET", path: "/restate/invocation/{invocationId}/attach", kind: "attach", meaning: "Attach by id" },
  { methods: "GET", path: "/restate/invocation/{invocationId}/output", kind: "output", meaning: "Output by id" },
  {
    methods: "GET",
    path: "/restate/invocation/{service}/{handler}/{idempotencyKey}/attach",
    kind: "attach",
    meaning: "Attach by idempotency key; `output` in place of `attach` too",
  },
  {
    methods: "GET",
    path: "/restate/invocation/{object}/{key}/{handler}/{idempotencyKey}/attach",
    kind: "attach",
    meaning: "The same for an object; `output` too",
  },
  { methods: "GET", path: "/restate/workflow/{workflow}/{key}/attach", kind: "attach", meaning: "Attach to a workflow" },
  { methods: "GET", path: "/restate/workflow/{workflow}/{key}/output", kind: "output", meaning: "Output of a workflow" },
  {
    methods: "POST",
    path: "/restate/awakeables/{id}/resolve",
    kind: "awakeable",
    meaning: "Complete an awakeable with the body",
  },
  {
    methods: "POST",
    path: "/restate/awakeables/{id}/reject",
    kind: "awakeable",
    meaning: "Fail an awakeable with the body as the reason",
  },
  { methods: "POST", path: "/restate/a/{id}/resolve", kind: "awakeable", meaning: "Short form; `reject` too" },
  { methods: "GET", path: "/restate/health", kind: "health", meaning: "200 with the names of the services" },
];

/** Headers that the ingress reads. */
export const REQUEST_HEADERS: Readonly<Record<string, string>> = {
  "idempotency-key": "Makes repetitions of the request one invocation. Not for the main handler of a workflow.",
  "content-type": "Must match what the handler declares as its input.",
  "x-restate-limit-key": "Limit key of the invocation, only in a scope; the query parameter `limit-key` is the same.",
  "x-perdure-priority": "1 (first) to 5 (last), only in a scope; the query parameter `priority` is the same.",
  "x-restate-debounce":
    "Makes a burst of requests one invocation: `5s;max=1m;key=customer-7`. See [Debounce invocations](../how-to/debounce.md).",
  "x-perdure-debounce": "The same as `x-restate-debounce`.",
  "x-restate-throttle":
    "Lets at most `limit` of the requests of a period run: `1m;limit=3;key=customer-7;over=join`. See [Throttle invocations](../how-to/throttle.md).",
  "x-perdure-throttle": "The same as `x-restate-throttle`.",
  "x-perdure-trace": "`1` samples the trace of this request although the sample ratio would not.",
  traceparent: "Parent of the trace of the invocation.",
  tracestate: "Belongs to `traceparent`.",
  origin: "For CORS: every origin is allowed.",
  "access-control-request-method": "For CORS, in a preflight request.",
  "access-control-request-headers": "For CORS, in a preflight request.",
};

/** Headers that the ingress adds: for the handler, or to a response. */
export const ADDED_HEADERS: Readonly<Record<string, string>> = {
  "x-restate-ingress-path": "To the handler: path and query of the request.",
  "x-restate-id": "Response: id of the invocation.",
  "idempotency-expires": "Response from a stored result: the time until which the result is kept.",
  "x-restate-error-source": "Error response: `ingress`, or `invocation` when the handler failed.",
  "access-control-allow-origin": "Response to a request with `origin`.",
  "access-control-allow-credentials": "Every response: `true`.",
  "access-control-allow-methods": "Response to a preflight request.",
  "access-control-allow-headers": "Response to a preflight request.",
  vary: "Every response: the headers of CORS.",
};

const INTRODUCTION = `The ingress listens at port 8080 (\`ingress.bind-port\`) and speaks HTTP/1.1, and HTTP/2 without TLS with prior knowledge. Names in paths are compared as they are; keys and scopes are
percent-decoded. A body goes to the handler as bytes. Slashes at the end of a path are ignored.`;

const QUERY = `- \`delay\`, only for sends: the invocation starts after this time, e.g. \`10s\`, \`1h 30m\` or \`PT60S\`
- \`limit-key\` and, in a scope, \`priority\`: as the headers of the same meaning, which win

All other parameters belong to the handler, which receives them in \`x-restate-ingress-path\`.`;

const HEADERS = `All other headers go to the handler in lower case, of repeated ones the first, except \`connection\`, \`host\`, \`baggage\` and the headers of Perdure in this table.`;

/** Bodies that name a target; the suite reads them with the parser of the ingress. */
export const TARGET_BODIES = [
  '{"target": "invocation", "invocationId": "inv_16vnR5MzgZWy3eOFa6NVfCXO0sW91TJz4N"}',
  '{"target": "idempotentInvocation", "service": "Greeter", "handler": "greet", "idempotencyKey": "order-1"}',
  '{"target": "idempotentInvocation", "service": "Counter", "key": "alice", "handler": "add", "idempotencyKey": "order-1"}',
  '{"target": "workflow", "workflowName": "Signup", "workflowKey": "user-1"}',
] as const;

const TARGET = `The body of \`/restate/attach\`, \`/restate/output\` and \`/restate/lookup\` is one of these; all but the first may have a \`scope\`:

\`\`\`json
${TARGET_BODIES.join("\n")}
\`\`\``;

/** Status → codes and messages, of all refusals that are constants. */
function refusedStatuses(): ReadonlyMap<number, readonly { readonly code: ErrorCode; readonly message: string }[]> {
  const all = Object.values(refusals).flatMap((one) => (typeof one === "object" && "kind" in one ? [one] : []));
  return Map.groupBy(all, ({ status }) => status);
}

function statusRows(): string[][] {
  const own = [...refusedStatuses()].map(([status, all]) => {
    const codes = [...new Set(all.map((one) => one.code))].toSorted();
    const messages = [...new Set(all.map(({ message }) => message))].join("; ");
    const named = codes.map((one) => {
      const meaning = catalogue[one].http === status ? catalogue[one].title : messages;
      return `[${one}](../errors/${one}.md) ${meaning}`;
    });
    return [String(status), "ingress", named.join("; ")];
  });
  const fixed = [
    ["200", "–", "The output of the handler"],
    ["202", "–", "Sent, or an awakeable was completed"],
    ["408", "ingress", "[ING0009](../errors/ING0009.md): the body did not arrive in time"],
    ["413", "ingress", `[ING0004](../errors/ING0004.md) ${catalogue.ING0004.title}`],
    ["503", "ingress", `[ING0006](../errors/ING0006.md) ${catalogue.ING0006.title}: says whether the request can be repeated`],
    ["any", "invocation", "The code of the terminal error of the handler; 500 for a code that is not a status"],
  ];
  const listed = new Set(own.map(([status]) => status));
  return [...own, ...fixed.filter(([status]) => !listed.has(status))].toSorted(([a = ""], [b = ""]) => (a < b ? -1 : 1));
}

const ERRORS = `The body of an error is JSON: \`{"code": 404, "message": "…", "source": "ingress"}\`, for a failed invocation also with \`stacktrace\` and \`metadata\` where there are any.`;

export function ingressPage(): Page {
  const paths = PATHS.map(({ methods, path, meaning }) => [methods, code(path), prose(meaning)]);
  const rows = (headers: Readonly<Record<string, string>>): string[][] =>
    Object.entries(headers).map(([name, meaning]) => [code(name), prose(meaning)]);
  return page("ingress.md", "Ingress HTTP", [
    INTRODUCTION,
    "## Paths",
    table(["Methods", "Path", "Meaning"], paths),
    TARGET,
    "## Query parameters",
    QUERY,
    "## Request headers",
    table(["Header", "Meaning"], rows(REQUEST_HEADERS)),
    HEADERS,
    "## Added headers",
    table(["Header", "Meaning"], rows(ADDED_HEADERS)),
    "## Status codes",
    ERRORS,
    table(["Status", "Source", "When"], statusRows()),
  ]);
}
