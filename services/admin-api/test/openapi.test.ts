/**
 * The OpenAPI document of the interface must be valid and have everything of the reference's document, except the listed omissions. The
 * test server of every other test checks that answers match it.
 */
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "@jest/globals";
import { createTestRegistry } from "@perdure/registry/testing";
import { Validator } from "@seriousme/openapi-schema-validator";
import { createTestAdminApi, startServer } from "../src/testing/index.js";
import { factsOf, type OperationFacts } from "./openapi-facts.js";

type Facts = Readonly<Record<string, OperationFacts>>;

/** Operations, parameters and fields of the reference's document, without its texts. */
const reference = JSON.parse(readFileSync(new URL("../testdata/reference-openapi.json", import.meta.url), "utf8")) as Facts;

/** Facts of the reference's document that ours omits, with the reason. Expressions are matched against `METHOD /path: fact`. */
const LEFT_OUT: readonly (readonly [RegExp, string])[] = [
  [/auth(\.|$)/, "tokens of one cloud platform cannot be minted here; a request for them is refused (400)"],
  [
    /^(GET|POST|PATCH) \/(deployments|kafka-clusters).*: answer \d+ (.*\.)?info(\[|$)(?!.*services)/,
    "there is nothing to note of them",
  ],
  [/handlers\[\]\.info|^GET \/services\/\{service\}\/handlers.*info/, "what there is to note stands at the service"],
];

let document: Record<string, unknown>;
let ours: Facts;
beforeAll(async () => {
  await using server = await startServer(createTestAdminApi({ registry: await createTestRegistry() }));
  const answer = await server.send("GET", "/openapi");
  expect(answer.status).toBe(200);
  document = answer.json<Record<string, unknown>>();
  ours = factsOf(document);
});

test("it is valid OpenAPI 3.1", async () => {
  const validator = new Validator();
  const result = await validator.validate(structuredClone(document));
  expect(result).toEqual({ valid: true });
  expect(validator.version).toBe("3.1");
});

test("operations have names of their own, and everything they refer to is there", () => {
  const text = JSON.stringify(document);
  const ids = [...text.matchAll(/"operationId":"(\w+)"/g)].map(([, id]) => id);
  expect(new Set(ids).size).toBe(ids.length);
  const { components } = document as { components: { schemas: object } };
  const references = new Set([...text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name));
  expect([...references].filter((name) => !Object.hasOwn(components.schemas, name ?? ""))).toEqual([]);
  expect(text).not.toContain("#/$defs");
});

interface Described {
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: object }>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { readonly schema: object }>> }>>;
}

/** Names of the schemas of a request or an answer; for a list those of its items. */
function schemaName(operation: string, status?: number): string | undefined {
  const [method = "", path = ""] = operation.split(" ");
  const { paths } = document as { paths: Record<string, Record<string, Described>> };
  const described = paths[path]?.[method.toLowerCase()];
  const content = status === undefined ? described?.requestBody?.content : described?.responses[status]?.content;
  const schema = content?.["application/json"]?.schema as { $ref?: string; items?: { $ref?: string } } | undefined;
  return (schema?.$ref ?? schema?.items?.$ref)?.split("/").at(-1);
}

describe("schemas have the names of the reference, which generated clients give to their types", () => {
  test.each([
    ["POST /deployments", "RegisterDeploymentRequest"],
    ["PATCH /deployments/{deployment}", "UpdateDeploymentRequest"],
    ["POST /kafka-clusters", "CreateKafkaClusterRequest"],
    ["PATCH /kafka-clusters/{cluster_name}", "UpdateKafkaClusterRequest"],
    ["POST /subscriptions", "CreateSubscriptionRequest"],
    ["PATCH /services/{service}", "ModifyServiceRequest"],
    ["POST /services/{service}/state", "ModifyServiceStateRequest"],
    ["PUT /limits/rules", "UpsertRuleRequest"],
    ["POST /limits/rules/bulk-delete", "DeleteRuleRequest"],
    ["POST /query", "QueryRequest"],
  ])("%s takes %s", (operation, name) => {
    expect(schemaName(operation)).toBe(name);
  });

  test.each([
    ["GET /deployments", 200, "ListDeploymentsResponse"],
    ["POST /deployments", 200, "RegisterDeploymentResponse"],
    ["POST /deployments", 201, "RegisterDeploymentResponse"],
    ["GET /deployments/{deployment}", 200, "DetailedDeploymentResponse"],
    ["GET /kafka-clusters", 200, "ListKafkaClustersResponse"],
    ["POST /kafka-clusters", 201, "SimpleKafkaClusterResponse"],
    ["GET /kafka-clusters/{cluster_name}", 200, "KafkaClusterResponse"],
    ["GET /subscriptions", 200, "ListSubscriptionsResponse"],
    ["POST /subscriptions", 201, "SubscriptionResponse"],
    ["GET /services", 200, "ListServicesResponse"],
    ["GET /services/{service}", 200, "ServiceMetadata"],
    ["GET /services/{service}/handlers", 200, "ListServiceHandlersResponse"],
    ["GET /services/{service}/handlers/{handler}", 200, "HandlerMetadata"],
    ["PATCH /invocations/{invocation_id}/restart-as-new", 200, "RestartAsNewInvocationResponse"],
    ["PUT /limits/rules", 200, "RuleResponse"],
    ["GET /version", 200, "VersionInformation"],
    ["GET /cluster-health", 200, "ClusterHealthResponse"],
    ["GET /version", 500, undefined],
    ["POST /deployments", 500, "ErrorDescriptionResponse"],
  ])("%s answers %i with %s", (operation, status, name) => {
    expect(schemaName(operation, status)).toBe(name);
  });
});

describe("compared with the reference's", () => {
  test.each(Object.keys(reference))("%s has its parameters and fields", (operation) => {
    const missing = missingFacts(operation).filter((fact) => reasonFor(`${operation}: ${fact}`) === undefined);
    expect(missing).toEqual([]);
  });

  test("every exception is needed", () => {
    const facts = Object.keys(reference).flatMap((operation) => missingFacts(operation).map((fact) => `${operation}: ${fact}`));
    expect(LEFT_OUT.filter(([pattern]) => !facts.some((fact) => pattern.test(fact)))).toEqual([]);
  });
});

test("what is ours alone is there too", () => {
  for (const operation of [
    "GET /invocations/{invocation_id}/explain",
    "GET /schedules",
    "POST /invocations/batch",
    "PUT /deployments/{deployment}",
  ])
    expect(ours).toHaveProperty([operation]);
  expect(ours["GET /deployments"]?.parameters).toEqual(["query:cursor", "query:limit"]);
  expect(ours["GET /deployments"]?.answers["200"]).toContain("next_cursor");
});

function missingFacts(operation: string): readonly string[] {
  const theirs = reference[operation]!;
  const own = ours[operation];
  if (own === undefined) return ["the operation"];
  const missing = (what: string, expected: readonly string[], there: readonly string[]) =>
    expected.filter((fact) => !there.includes(fact)).map((fact) => `${what} ${fact}`);
  return [
    ...missing("parameter", theirs.parameters, own.parameters),
    ...missing("request", theirs.request, own.request),
    ...missing("status", Object.keys(theirs.answers), Object.keys(own.answers)),
    ...Object.entries(theirs.answers).flatMap(([status, fields]) =>
      missing(`answer ${status}`, fields, own.answers[status] ?? []),
    ),
  ];
}

function reasonFor(fact: string): string | undefined {
  return LEFT_OUT.find(([pattern]) => pattern.test(fact))?.[1];
}
