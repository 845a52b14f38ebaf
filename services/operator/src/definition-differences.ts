/** Differences between our definition of a kind and the one that a cluster has installed. */
import { jsonFields } from "@perdure/base";
import { API_GROUP, API_VERSION, definitions as ours } from "@perdure/custom-resources";
import type { KubeObject } from "@perdure/kubernetes";
import { hashOf } from "./desired/runtime-config.js";

type OpenApiSchema = Readonly<Record<string, unknown>>;

const RULES = "x-kubernetes-validations";

/** The schema of our version in an installed definition; empty when it has none. */
export function schemaOf(definition: KubeObject): OpenApiSchema {
  const versions = listOf(fieldOf(definition["spec"], "versions"));
  const version = versions.find((one) => fieldOf(one, "name") === API_VERSION);
  return jsonFields(fieldOf(fieldOf(version, "schema"), "openAPIV3Schema")) ?? {};
}

/** Fields, values and rules that ours has and `installed` does not; what it has beyond ours is a newer release's. */
export function lackingIn(installed: OpenApiSchema, plural: string): readonly string[] {
  const definition = ours.find(({ metadata }) => metadata.name === `${plural}.${API_GROUP}`);
  const schema = definition?.spec.versions[0]?.schema.openAPIV3Schema ?? {};
  if (hashOf(schema) === hashOf(installed)) return [];
  return [...lacking(schema, installed, "")];
}

function* lacking(required: OpenApiSchema, installed: OpenApiSchema, path: string): Generator<string> {
  const there = jsonFields(installed["properties"]) ?? {};
  for (const [name, field] of Object.entries(jsonFields(required["properties"]) ?? {})) {
    const installedField = jsonFields(there[name]);
    if (installedField === undefined) yield `${path}.${name}`;
    else yield* lacking(jsonFields(field) ?? {}, installedField, `${path}.${name}`);
  }
  for (const inner of ["items", "additionalProperties"] as const) {
    const schema = jsonFields(required[inner]);
    if (schema !== undefined) yield* lacking(schema, jsonFields(installed[inner]) ?? {}, `${path}[]`);
  }
  for (const value of listOf(required["enum"])) {
    if (!listOf(installed["enum"]).includes(value)) yield `${path}=${String(value)}`;
  }
  const rules = new Set(listOf(installed[RULES]).map((rule) => fieldOf(rule, "rule")));
  for (const rule of listOf(required[RULES])) {
    const { rule: text = "", message = text } = jsonFields(rule) ?? {};
    if (!rules.has(text)) yield `${path === "" ? "." : path} (${String(message)})`;
  }
}

const fieldOf = (value: unknown, name: string): unknown => jsonFields(value)?.[name];
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
