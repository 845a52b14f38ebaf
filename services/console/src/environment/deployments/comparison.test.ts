import { expect, test } from "@jest/globals";
import type { DeploymentDetail, HandlerMetadata, ServiceMetadata } from "@perdure/admin-client";
import { comparableWith, comparisonOf } from "./comparison.js";

const handler = (name: string, more: Partial<HandlerMetadata> = {}): HandlerMetadata => ({
  name,
  public: true,
  input_description: "any",
  output_description: "any",
  retry_policy: { max_attempts: null },
  ...more,
});
const service = (name: string, revision: number, handlers: readonly HandlerMetadata[]): ServiceMetadata => ({
  name,
  ty: "Service",
  handlers: [...handlers],
  deployment_id: `dp_${revision}`,
  revision,
  public: true,
  idempotency_retention: "1d",
  inactivity_timeout: "1m",
  abort_timeout: "10m",
  enable_lazy_state: false,
  retry_policy: { initial_interval: "50ms", exponentiation_factor: 2, max_attempts: null, on_max_attempts: "Pause" },
});
const deployment = (id: string, created_at: string, services: readonly ServiceMetadata[]): DeploymentDetail => ({
  id,
  created_at,
  uri: `http://${id}`,
  protocol_type: "BidiStream",
  http_version: "HTTP/2.0",
  min_protocol_version: 5,
  max_protocol_version: 6,
  services: [...services],
});

const schema = (type: string) => ({ type: "object", properties: { amount: { type } } });
const OLD = deployment("dp_a", "2026-01-01T00:00:00Z", [
  service("Orders", 1, [handler("place", { input_json_schema: schema("integer") }), handler("cancel"), handler("list")]),
  service("Legacy", 1, [handler("run")]),
  service("Stock", 1, [handler("take")]),
]);
const NEW = deployment("dp_b", "2026-01-02T00:00:00Z", [
  service("Orders", 2, [handler("list"), handler("refund"), handler("place", { input_json_schema: schema("string") })]),
  service("Stock", 2, [handler("take")]),
  service("Payments", 1, [handler("pay")]),
]);

test("services and handlers that are added, removed and changed are named", () => {
  expect(comparisonOf(OLD, NEW).map(({ lines: _lines, ...rest }) => rest)).toEqual([
    { service: "Legacy", change: "removed", revisions: "1", added: [], removed: ["run"], changed: [] },
    { service: "Orders", change: "changed", revisions: "1 → 2", added: ["refund"], removed: ["cancel"], changed: ["place"] },
    { service: "Payments", change: "added", revisions: "1", added: ["pay"], removed: [], changed: [] },
    { service: "Stock", change: "equal", revisions: "1 → 2", added: [], removed: [], changed: [] },
  ]);
});

test("a change of a schema is the line that changed, whatever the order of handlers and fields is", () => {
  const [, orders] = comparisonOf(OLD, NEW);
  const texts = (kind: "added" | "removed") =>
    (orders?.lines ?? []).flatMap((line) => (line.kind === kind ? [line.text.trim()] : []));
  expect(texts("removed")).toContain('"type": "integer"');
  expect(texts("added")).toContain('"type": "string"');
  const turned = { properties: { amount: { type: "integer" } }, type: "object" };
  const same = deployment("dp_c", OLD.created_at, [service("Stock", 3, [handler("take", { input_json_schema: turned })])]);
  const first = deployment("dp_d", OLD.created_at, [
    service("Stock", 2, [handler("take", { input_json_schema: schema("integer") })]),
  ]);
  expect(comparisonOf(first, same).map(({ change }) => change)).toEqual(["equal"]);
});

test("a deployment is compared with others that serve one of its services, the newest first", () => {
  const brief = ({ services, ...rest }: DeploymentDetail) => ({
    ...rest,
    services: services.map(({ name, revision }) => ({ name, revision })),
  });
  const other = deployment("dp_x", "2026-01-03T00:00:00Z", [service("Unrelated", 1, [])]);
  const newest = deployment("dp_y", "2026-01-04T00:00:00Z", [service("Stock", 3, [])]);
  expect(comparableWith(OLD, [OLD, NEW, other, newest].map(brief)).map(({ id }) => id)).toEqual(["dp_y", "dp_b"]);
});
