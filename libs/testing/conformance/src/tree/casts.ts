/** Finds what the compiler does not check in a source: casts, and objects that are filled in after other objects have got them. */
import { parseSync } from "@swc/core";

interface AstNode {
  readonly type: string;
  readonly [key: string]: unknown;
}

export interface UncheckedCode {
  /** `x as T`, `T` any type but `unknown`; `as const` and `satisfies` are not casts. */
  readonly casts: number;
  /** `x as unknown as T`: the compiler compares nothing. */
  readonly doubleCasts: number;
  /**
   * `const parts = { worker: undefined }` with `parts.worker = …` later, and declarations with `!`: the value comes later, and the compiler
   * does not see when.
   */
  readonly placeholders: number;
}

interface Findings {
  casts: number;
  doubleCasts: number;
  declarationsWithoutValue: number;
  /** Names of constants whose members are all undefined. */
  readonly emptyObjects: Set<string>;
  /** Names of objects of which a member is assigned. */
  readonly assigned: Set<string>;
}

export function uncheckedCodeOf(path: string, source: string): UncheckedCode {
  // A source without any of these texts need not be parsed.
  if (!/\sas\s|!:|: undefined/.test(source)) return { casts: 0, doubleCasts: 0, placeholders: 0 };
  const options = { syntax: "typescript", tsx: path.endsWith(".tsx"), target: "esnext" } as const;
  const emptyObjects = new Set<string>();
  const assigned = new Set<string>();
  const findings: Findings = { casts: 0, doubleCasts: 0, declarationsWithoutValue: 0, emptyObjects, assigned };
  visit(parseSync(source, options), findings);
  const { casts, doubleCasts, declarationsWithoutValue } = findings;
  const filled = [...emptyObjects].filter((name) => assigned.has(name));
  return { casts, doubleCasts, placeholders: declarationsWithoutValue + filled.length };
}

function visit(value: unknown, findings: Findings): void {
  if (Array.isArray(value)) {
    for (const one of value) visit(one, findings);
    return;
  }
  if (!isNode(value)) return;
  if (value.type === "TsAsExpression" && !isUnknown(value["typeAnnotation"])) {
    findings.casts++;
    const inner = withoutParentheses(value["expression"]);
    if (isNode(inner) && inner.type === "TsAsExpression" && isUnknown(inner["typeAnnotation"])) findings.doubleCasts++;
  }
  if (value["definite"] === true) findings.declarationsWithoutValue++;
  if (value.type === "VariableDeclarator" && isPlaceholder(value["init"])) findings.emptyObjects.add(nameOf(value["id"]));
  const left = value.type === "AssignmentExpression" ? value["left"] : undefined;
  if (isNode(left) && left.type === "MemberExpression") findings.assigned.add(nameOf(left["object"]));
  for (const child of Object.values(value)) visit(child, findings);
}

function isNode(value: unknown): value is AstNode {
  return typeof value === "object" && value !== null;
}

function withoutParentheses(value: unknown): unknown {
  return isNode(value) && value.type === "ParenthesisExpression" ? withoutParentheses(value["expression"]) : value;
}

function isUnknown(annotation: unknown): boolean {
  return isNode(annotation) && annotation.type === "TsKeywordType" && annotation["kind"] === "unknown";
}

function isPlaceholder(init: unknown): boolean {
  if (!isNode(init) || init.type !== "ObjectExpression") return false;
  const properties = Array.isArray(init["properties"]) ? init["properties"] : [];
  return properties.length > 0 && properties.every((property: unknown) => isNode(property) && isUndefined(property["value"]));
}

/** Of an identifier; empty for any other node. */
function nameOf(node: unknown): string {
  return isNode(node) && node.type === "Identifier" && typeof node["value"] === "string" ? node["value"] : "";
}

function isUndefined(value: unknown): boolean {
  return isNode(value) && value.type === "Identifier" && value["value"] === "undefined";
}
