import { expect, test } from "@jest/globals";
import type { DeploymentSummary } from "@perdure/admin-client";
import { aHandler, aService } from "@perdure/admin-client/testing";
import {
  addressProblem,
  inFlightOf,
  latestRevisions,
  protocolText,
  recordOfPairs,
  serviceChanges,
  stateOf,
} from "./deployment-text.js";

const deployment = (id: string, services: DeploymentSummary["services"]): DeploymentSummary => ({
  id,
  uri: `http://${id}`,
  created_at: "2026-11-22T00:00:00Z",
  min_protocol_version: 5,
  max_protocol_version: 7,
  services,
});

test("a deployment drains when none of its revisions is the latest", () => {
  const old = deployment("dp_1", [{ name: "A", revision: 1 }]);
  const mixed = deployment("dp_2", [
    { name: "A", revision: 2 },
    { name: "B", revision: 1 },
  ]);
  const newest = deployment("dp_3", [{ name: "A", revision: 3 }]);
  const latest = latestRevisions([old, mixed, newest]);
  const inFlight = inFlightOf([{ deployment: "dp_1", n: 4 }]);
  const states = [old, mixed, newest].map((each) => stateOf(each, latest, inFlight.get(each.id) ?? 0));
  expect(states).toEqual(["draining", "active", "active"]);
  expect(stateOf(old, latest, 0)).toBe("drained");
});

test("shows its protocol", () => {
  expect(protocolText({ http_version: "HTTP/2.0", protocol_type: "BidiStream" })).toBe("HTTP/2, bidirectional streaming");
  expect(protocolText({ http_version: "HTTP/1.1", protocol_type: "RequestResponse" })).toBe("HTTP/1.1, request/response");
  expect(protocolText({ arn: "arn:aws:lambda:x" })).toBe("Lambda");
});

test.each([
  ["http://localhost:9080", true],
  ["tunnel://laptop:9080", true],
  ["arn:aws:lambda:eu-central-1:123456789012:function:orders:3", true],
  ["arn:aws:lambda:eu-central-1:123456789012:function:orders", false],
  ["localhost:9080", false],
  ["javascript:alert(1)", false],
  ["", true],
])("%s as an address: %s", (address, isFine) => expect(addressProblem(address) === undefined).toBe(isFine));

test("changes are listed by service", () => {
  const service = (name: string, revision: number, handlers: readonly string[], ty = "Service") =>
    aService(
      name,
      handlers.map((each) => aHandler(each)),
      { ty, revision },
    );
  const now = [service("A", 1, ["x", "y"]), service("C", 2, ["c"])];
  const next = [service("A", 2, ["y", "z"], "Workflow"), service("B", 1, ["b"]), service("C", 2, ["c"])];
  expect(serviceChanges(now, next)).toEqual([
    { service: "A", what: "revision 1 → 2", added: ["z"], removed: ["x"], typeChange: "Service → Workflow" },
    { service: "B", what: "new", added: ["b"], removed: [], typeChange: undefined },
    { service: "C", what: "unchanged", added: [], removed: [], typeChange: undefined },
  ]);
});

test("rows without a name are none", () => {
  expect(recordOfPairs([{ name: "", value: "x" }])).toBeUndefined();
  expect(recordOfPairs([{ name: " a ", value: " b" }])).toEqual({ a: " b" });
});
