/**
 * Every value of the chart has a default, a rule and a description: a test checks that values.yaml, values.schema.json and README.md
 * agree.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { CHART } from "./release.js";

export interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly $ref?: string;
  readonly [keyword: string]: unknown;
}

interface Root extends Schema {
  readonly definitions: Readonly<Record<string, Schema>>;
}

const file = (name: string): string => readFileSync(join(CHART, name), "utf8");

export const schema = JSON.parse(file("values.schema.json")) as Root;
export const values = parse(file("values.yaml")) as Readonly<Record<string, unknown>>;

export interface Leaf {
  readonly path: string;
  readonly description: string | undefined;
  readonly value: unknown;
}

/** Values that helm itself passes to the chart of definitions. */
const OF_HELM: ReadonlySet<string> = new Set(["perdure-crds"]);

/** Places where the schema stops knowing names, or that are not objects at all, in its order. */
export function leavesOfSchema(of: Schema = schema, path = ""): Omit<Leaf, "value">[] {
  return Object.entries(of.properties ?? {}).flatMap(([name, member]) => {
    const at = path === "" ? name : `${path}.${name}`;
    if (OF_HELM.has(at)) return [];
    return member.properties === undefined ? [{ path: at, description: member.description }] : leavesOfSchema(member, at);
  });
}

export function valueAt(path: string): unknown {
  return path.split(".").reduce<unknown>((within, name) => (within as Record<string, unknown> | undefined)?.[name], values);
}

/** Every path of values.yaml, down to where the schema has its leaves. */
export function leavesOfValues(within: Readonly<Record<string, unknown>> = values, of: Schema = schema, path = ""): string[] {
  return Object.entries(within).flatMap(([name, value]) => {
    const at = path === "" ? name : `${path}.${name}`;
    const member = of.properties?.[name];
    return member?.properties === undefined ? [at] : leavesOfValues(value as Record<string, unknown>, member, at);
  });
}

/** Objects whose members the schema does not restrict: any member would be valid there. */
export function openObjects(of: Schema = schema, path = ""): string[] {
  return Object.entries(of.properties ?? {}).flatMap(([name, member]) => {
    const at = path === "" ? name : `${path}.${name}`;
    if (member.properties === undefined) return [];
    return [...(member.additionalProperties === false ? [] : [at]), ...openObjects(member, at)];
  });
}

const BEGIN = "<!-- values: made of values.yaml and values.schema.json by `make charts` -->\n";
const END = "<!-- end of values -->\n";

/** The README with the table of all values as it should be. */
export function readmeOf(text: string): string {
  const [head, rest] = text.split(BEGIN) as [string, string];
  const tail = rest.slice(rest.indexOf(END));
  return `${head}${BEGIN}\n${table()}\n${tail}`;
}

function table(): string {
  const rows = leavesOfSchema().map(({ path, description }) => {
    const value = JSON.stringify(valueAt(path)) ?? "";
    return `| \`${path}\` | \`${value}\` | ${(description ?? "").replaceAll("|", "\\|")} |\n`;
  });
  return `| Value | Default | Meaning |\n| --- | --- | --- |\n${rows.join("")}`;
}
