/** The page of the management API, from the OpenAPI document that the server serves at `GET /openapi`. */
import { z } from "zod";
import { code, type Page, page, prose, table } from "./markdown.js";
import { fieldTable, jsonSchema, linkOf, typeName } from "./schema.js";

const content = z.record(z.string(), z.object({ schema: jsonSchema.optional() })).optional();
const operation = z.object({
  summary: z.string(),
  deprecated: z.boolean().optional(),
  parameters: z.array(z.object({ name: z.string(), in: z.string(), description: z.string().optional() })),
  requestBody: z.object({ content }).optional(),
  responses: z.record(z.string(), z.object({ description: z.string(), content })),
});
type RestOperation = z.output<typeof operation>;

const openApi = z.object({
  info: z.object({ description: z.string() }),
  paths: z.record(z.string(), z.record(z.string(), operation)),
  components: z.object({ schemas: z.record(z.string(), jsonSchema) }),
});

const INTRODUCTION = `The management API listens at port 9070 (\`admin.bind-port\`) and speaks JSON. The server describes it as OpenAPI 3.1 at \`GET /openapi\`, from which this page is made;
\`GET /services/{service}/openapi\` describes the handlers of one service. It has no authentication of its own: [keep it private](../how-to/secure-the-management-api.md).

An error is a JSON object with \`message\` and, where there is one, \`restate_code\`, a code with [a page of its own](../errors/README.md).`;

/** `document` is the body of `GET /openapi`. */
export function adminApiPage(document: unknown): Page {
  const { info, paths, components } = openApi.parse(document);
  const groups = Map.groupBy(Object.entries(paths), ([path]) => path.split("/")[1] ?? "");
  const operations = [...groups].flatMap(([group, members]) => [
    `## ${group}`,
    ...members.flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, described]) => operationBlocks(method.toUpperCase(), path, described)),
    ),
  ]);
  const schemas = Object.entries(components.schemas)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([name, schema]) => [
      `### ${name}`,
      ...(schema.description === undefined ? [] : [prose(schema.description)]),
      fieldTable(schema, name.endsWith("Request") ? "Required" : "Always there") || typeName(schema),
    ]);
  return page("admin-api.md", "Management API", [INTRODUCTION, prose(info.description), ...operations, "## Schemas", ...schemas]);
}

function operationBlocks(method: string, path: string, described: RestOperation): string[] {
  const deprecated = described.deprecated === true ? " Deprecated." : "";
  const parameters = described.parameters
    .filter((one) => one.in === "query")
    .map(({ name, description }) => [code(name), prose(description ?? "")]);
  const body = described.requestBody?.content?.["application/json"]?.schema;
  const answers = Object.entries(described.responses)
    .filter(([status]) => status !== "default")
    .map(([status, answer]) => [status, prose(answer.description), bodyType(answer.content)]);
  return [
    `### ${code(`${method} ${path}`)}`,
    `${prose(described.summary)}.${deprecated}`,
    ...(parameters.length === 0 ? [] : [table(["Query parameter", "Meaning"], parameters)]),
    ...(body === undefined ? [] : [`Body: ${typeName(body)}.`]),
    table(["Status", "When", "Body"], answers),
  ];
}

function bodyType(types: z.output<typeof content>): string {
  const names = Object.entries(types ?? {}).map(([type, { schema }]) =>
    schema === undefined ? code(type) : type === "application/json" ? typeName(schema) : `${code(type)}: ${typeName(schema)}`,
  );
  const shown = [...new Set(names)].join(" or ");
  return shown === linkOf("ErrorDescriptionResponse") ? "error" : shown === "" ? "none" : shown;
}
