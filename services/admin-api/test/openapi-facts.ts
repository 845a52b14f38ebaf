/** Extracts the facts of an OpenAPI document for comparison: operations, parameters, fields of requests and of answers. */

export interface OperationFacts {
  /** `in:name`. */
  readonly parameters: readonly string[];
  /** Paths of fields: `a.b`, `list[].x`, `map.*`. */
  readonly request: readonly string[];
  /** Answers by status, for statuses below 400. */
  readonly answers: Readonly<Record<string, readonly string[]>>;
}

type Node = { readonly [name: string]: unknown };

/** Returns the facts of a document by `METHOD /path`. */
export function factsOf(document: unknown): Record<string, OperationFacts> {
  const root = document as Node;
  const facts: Record<string, OperationFacts> = {};
  for (const [path, item] of Object.entries(root["paths"] as Node)) {
    for (const [method, operation] of Object.entries(item as Node)) {
      facts[`${method.toUpperCase()} ${path}`] = operationFacts(root, operation as Node);
    }
  }
  return facts;
}

function operationFacts(root: Node, operation: Node): OperationFacts {
  const parameters = ((operation["parameters"] ?? []) as Node[]).map((one) => resolved(root, one));
  const successes = Object.entries(operation["responses"] as Node).filter(([status]) => Number(status) < 400);
  return {
    parameters: parameters.map((one) => `${one["in"]}:${one["name"]}`).sort(),
    request: fieldsOfContent(root, operation["requestBody"]),
    answers: Object.fromEntries(successes.map(([status, answer]) => [status, fieldsOfContent(root, answer)])),
  };
}

function fieldsOfContent(root: Node, holder: unknown): readonly string[] {
  const fields = new Set<string>();
  const content = holder === undefined ? undefined : resolved(root, holder as Node)["content"];
  for (const media of Object.values((content ?? {}) as Node)) collect(root, (media as Node)["schema"], "", fields);
  return [...fields].sort();
}

function collect(root: Node, schema: unknown, path: string, into: Set<string>): void {
  if (typeof schema !== "object" || schema === null) return;
  const node = resolved(root, schema as Node);
  for (const keyword of ["oneOf", "anyOf", "allOf"]) {
    for (const part of (node[keyword] ?? []) as unknown[]) collect(root, part, path, into);
  }
  for (const [name, part] of Object.entries((node["properties"] ?? {}) as Node)) {
    const field = path === "" ? name : `${path}.${name}`;
    into.add(field);
    collect(root, part, field, into);
  }
  collect(root, node["items"], `${path}[]`, into);
  collect(root, node["additionalProperties"], `${path}.*`, into);
}

function resolved(root: Node, node: Node): Node {
  const reference = node["$ref"];
  if (typeof reference !== "string") return node;
  let target: unknown = root;
  for (const name of reference.split("/").slice(1)) target = (target as Node)[name];
  return resolved(root, target as Node);
}
