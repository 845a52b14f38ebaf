import { describe, expect, test } from "@jest/globals";
import { routeOf } from "./route.js";
import { aHandler, aRegistry, testDeploymentId } from "./testing/index.js";

const services = {
  S: { type: "service" as const, handlers: [aHandler("S", "h"), aHandler("S", "send"), aHandler("S", "p", { public: false })] },
  O: { type: "virtualObject" as const, handlers: [aHandler("O", "h"), aHandler("O", "send")] },
  W: { type: "workflow" as const, handlers: [aHandler("W", "run", { handlerType: "workflow" })] },
};
const registry = aRegistry(services).current();

/** Short text of a route: its action and target, or the status and text of the refusal. */
function shown(path: string, of = registry): string {
  const route = routeOf(path, of);
  switch (route.kind) {
    case "refused":
      return `${route.status} ${route.message}`;
    case "invoke": {
      const scope = route.scope === undefined ? "" : ` in ${route.scope}`;
      return `${route.wait ? "call" : "send"} ${route.handler.service}[${route.key ?? ""}].${route.handler.handler}${scope}`;
    }
    case "result":
      return `${route.verb} ${JSON.stringify(route.target)}`;
    case "resultByBody":
      return `${route.verb} by body`;
    case "awakeable":
      return `${route.verb} ${route.id}`;
    case "health":
      return "health";
  }
}

const reservedText =
  "400 bad path, expected /restate/call/:service/:handler, /restate/send/:service/:handler, /restate/scope/:scope/call/:service/:handler, /restate/attach/:invocation_id, /restate/output/:invocation_id, or /restate/lookup";
const serviceText = "400 bad path, expected either /:service-name/:handler or /:object-name/:object-key/:handler";
const keyText = "400 bad path, cannot decode key: the decoded bytes are not UTF-8";

describe("paths of calls and sends", () => {
  test.each([
    ["/S/h", "call S[].h"],
    ["/S/h/send", "send S[].h"],
    ["/S/send", "call S[].send"],
    ["/S/send/send", "send S[].send"],
    ["/O/k/h", "call O[k].h"],
    ["/O/k/h/send", "send O[k].h"],
    ["/O/send/send", "call O[send].send"],
    ["/O//h", "call O[].h"],
    ["/O/a%2Fb/h", "call O[a/b].h"],
    ["/O/%FF/h", keyText],
    ["/O/h", serviceText],
    ["/O/k/h/x", serviceText],
    ["/O/k/h/send/x", serviceText],
    ["/S/h/x", serviceText],
    ["/S/h/send/x", serviceText],
    ["/restate/call/S/h", "call S[].h"],
    ["/restate/send/S/h", "send S[].h"],
    ["/restate/call/O/k/h", "call O[k].h"],
    ["/restate/send/O//h", "send O[].h"],
    ["/restate/call/O/%ff/h", keyText],
    ["/restate/call/S/send", "call S[].send"],
    ["/restate/call/S/h/send", reservedText],
    ["/restate/call/O/h", reservedText],
    ["/restate/call/S", reservedText],
    ["/restate/call", reservedText],
    ["/restate/scope/s1/call/S/h", "call S[].h in s1"],
    ["/restate/scope/s1/send/O/k/h", "send O[k].h in s1"],
    ["/restate/scope//call/S/h", "call S[].h in "],
    ["/restate/scope/s1/call", reservedText],
    ["/restate/scope/s1/x/S/h", reservedText],
    ["/S/p", "400 the invoked service is not public"],
    [
      "/S/%68",
      "404 the service 'S' exists, but the handler '%68' was not found, check that the handler exists in the latest registered service version.",
    ],
    ["/%53/h", "404 service '%53' not found, make sure to register the service before calling it."],
    ["/restate/call//h", "404 service '' not found, make sure to register the service before calling it."],
  ])("%s", (path, expected) => {
    expect(shown(path)).toBe(expected);
  });

  test.each(["/", "/S", "/a/b/c/d/e/f/g/h"])("%s has too few or too many slashes", (path) => {
    expect(shown(path)).toBe(`400 bad path: ${path}`);
  });

  test("a service behind a deployment with an unsupported protocol is refused, after the handler was found", () => {
    const old = aRegistry(services, { min: 1, max: 4 }).current();
    const future = aRegistry(services, { min: 8, max: 9 }).current();
    const text = `400 the service S is exposed by the deprecated deployment ${testDeploymentId}. Upgrade the SDK used by S.`;
    expect(shown("/S/h", old)).toBe(text);
    expect(shown("/S/h", future)).toBe(text);
    expect(shown("/S/x", old)).toMatch(/^404/);
  });
});

describe("paths of results", () => {
  const named = (verb: string, service: string, key: string | undefined, handler: string, idempotencyKey: string) =>
    `${verb} ${JSON.stringify({ kind: "idempotent", service, key, handler, idempotencyKey, scope: undefined })}`;
  const workflow = (verb: string, key: string) => `${verb} ${JSON.stringify({ kind: "workflow", workflow: "NoWf", key })}`;
  const invocationText =
    "400 bad path, expected either /restate/invocation/:invocation_id/output or /restate/invocation/:invocation_id/attach or /restate/invocation/:invocation_target/:idempotency_key/output or /restate/invocation/:invocation_target/:idempotency_key/attach";
  const workflowText =
    "400 bad path, expected either /restate/workflow/:workflow_name/:workflow_key/output or /restate/workflow/:workflow_name/:workflow_key/attach";

  test.each([
    ["/restate/attach/inv_x", 'attach {"kind":"id","text":"inv_x"}'],
    ["/restate/output/inv_x", 'output {"kind":"id","text":"inv_x"}'],
    ["/restate/attach", "attach by body"],
    ["/restate/output", "output by body"],
    ["/restate/lookup", "lookup by body"],
    ["/restate/lookup/x", reservedText],
    ["/restate/attach/inv_x/y", reservedText],
    ["/restate/invocation/inv_x/attach", 'attach {"kind":"id","text":"inv_x"}'],
    ["/restate/invocation/inv_x/output", 'output {"kind":"id","text":"inv_x"}'],
    ["/restate/invocation/inv_x/foo", "404 not found"],
    ["/restate/invocation/S/h/i%2F/attach", named("attach", "S", undefined, "h", "i%2F")],
    ["/restate/invocation/O/k%2F/h/i/output", named("output", "O", "k/", "h", "i")],
    ["/restate/invocation/W/k/none/i/output", named("output", "W", "k", "none", "i")],
    ["/restate/invocation/O/%FF/h/i/output", keyText],
    ["/restate/invocation/S/h/i/foo", "404 not found"],
    ["/restate/invocation/S/h/i/x/attach", invocationText],
    ["/restate/invocation/O/k/h/attach", invocationText],
    ["/restate/invocation/S/h/attach", invocationText],
    [
      "/restate/invocation/inv_x/signal/foo",
      "404 service 'inv_x' not found, make sure to register the service before calling it.",
    ],
    ["/restate/invocation/x", invocationText],
    ["/restate/invocation", invocationText],
    ["/restate/workflow/NoWf/k%2F/attach", workflow("attach", "k/")],
    ["/restate/workflow/NoWf/k/output", workflow("output", "k")],
    ["/restate/workflow/NoWf/k/foo", "404 not found"],
    ["/restate/workflow/NoWf/%FF/attach", keyText],
    ["/restate/workflow/NoWf/k", workflowText],
    ["/restate/workflow", workflowText],
  ])("%s", (path, expected) => {
    expect(shown(path)).toBe(expected);
  });
});

describe("other reserved paths", () => {
  const awakeableText = "400 bad path, expected either /restate/awakeables/:id/resolve or /restate/awakeables/:id/reject";

  test.each([
    ["/restate/awakeables/x/resolve", "resolve x"],
    ["/restate/a/x/reject", "reject x"],
    ["/restate/a/x/foo", "404 not found"],
    ["/restate/a/x", awakeableText],
    ["/restate/awakeables", awakeableText],
    ["/restate/health", "health"],
    ["/restate/health/x", "health"],
    ["/restate/signal/x/y", "404 not found"],
    ["/restate/nope", "404 not found"],
    ["/restate/", "404 not found"],
    ["/openapi/x", "404 not found"],
  ])("%s", (path, expected) => {
    expect(shown(path)).toBe(expected);
  });
});
