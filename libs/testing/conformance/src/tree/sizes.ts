/** Measures functions of a source, for the rule that one fits a screen. */
import { parseSync } from "@swc/core";

export interface MeasuredFunction {
  /** `name`, `Class.method`, or for a function without a name the call that it is passed to: `beforeAll(…)`, `test("title")`. */
  readonly name: string;
  readonly firstLine: number;
  readonly lineCount: number;
}

interface AstNode {
  readonly type: string;
  readonly span?: { readonly start: number; readonly end: number };
  readonly [key: string]: unknown;
}

const FUNCTIONS: ReadonlySet<string> = new Set([
  "FunctionDeclaration",
  "FunctionExpression",
  "ArrowFunctionExpression",
  "ClassMethod",
  "PrivateMethod",
  "Constructor",
  "MethodProperty",
  "GetterProperty",
  "SetterProperty",
]);

/** Functions that are longer than `lineCountMax`, with those inside them. A function that declares tests is a suite, and not returned. */
export function functionsOver(lineCountMax: number, path: string, source: string): readonly MeasuredFunction[] {
  // A short source has no long function, and need not be parsed.
  if (source.split("\n", lineCountMax + 2).length <= lineCountMax) return [];
  const { body, lineAt } = parse(path, source);
  const functions: MeasuredFunction[] = [];
  visit(body, "", (node, name) => {
    if (node.span === undefined || name.startsWith("describe(") || declaresTests(node)) return;
    const firstLine = lineAt(node.span.start);
    const lineCount = lineAt(node.span.end) - firstLine + 1;
    if (lineCount > lineCountMax) functions.push({ name, firstLine, lineCount });
  });
  return functions;
}

interface Parsed {
  readonly body: readonly AstNode[];
  /** The line (from 1) at a position of the syntax tree. */
  readonly lineAt: (position: number) => number;
}

function parse(path: string, source: string): Parsed {
  const syntax = { syntax: "typescript", tsx: path.endsWith(".tsx") } as const;
  // The parser counts positions on from file to file: an empty statement in front of the source says where this one begins.
  const text = `;${source.replace(/^#!/, "//")}`;
  const [empty, ...body] = parseSync(text, { ...syntax, target: "esnext" }).body as unknown as readonly AstNode[];
  const start = empty?.span?.start ?? 0;
  const bytes = Buffer.from(text);
  const lineStarts = [0];
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) lineStarts.push(at + 1);
  const lineAt = (position: number): number => {
    let low = 0;
    let high = lineStarts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((lineStarts[middle] as number) <= position - start) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return { body, lineAt };
}

/** Calls `report` with every function at or below a node. `context` names what holds the node. */
function visit(node: unknown, context: string, report: (node: AstNode, name: string) => void): void {
  if (Array.isArray(node)) {
    for (const one of node) visit(one, context, report);
    return;
  }
  if (typeof node !== "object" || node === null) return;
  const child = node as AstNode;
  if (typeof child.type !== "string") {
    for (const value of Object.values(node)) visit(value, context, report);
    return;
  }
  if (child.type.startsWith("Ts") && child.type !== "TsAsExpression" && child.type !== "TsSatisfiesExpression") return;
  const name = nameOf(child, context);
  if (FUNCTIONS.has(child.type)) report(child, name);
  for (const [key, value] of Object.entries(child)) if (key !== "span") visit(value, name, report);
}

function nameOf(node: AstNode, context: string): string {
  switch (node.type) {
    case "FunctionDeclaration":
    case "FunctionExpression":
    case "ClassDeclaration":
      return node["identifier"] ? textOf(node["identifier"]) : context;
    case "VariableDeclarator":
      return textOf(node["id"]) || context;
    case "ClassMethod":
    case "PrivateMethod":
      return `${context}.${textOf(node["key"])}`;
    case "Constructor":
      return `${context}.constructor`;
    case "MethodProperty":
    case "KeyValueProperty":
    case "GetterProperty":
    case "SetterProperty":
    case "ClassProperty":
    case "PrivateProperty":
      return textOf(node["key"]) || context;
    case "CallExpression":
      return nameOfCall(node) || context;
    default:
      return context;
  }
}

function nameOfCall(call: AstNode): string {
  const callee = calleeOf(call);
  const [first] = call["arguments"] as readonly { readonly expression: AstNode }[];
  const title = first?.expression.type === "StringLiteral" ? JSON.stringify(textOf(first.expression)) : "…";
  return callee === "" ? "" : `${callee}(${title})`;
}

/** Returns the name of the called function: `test` for `test(…)` and for every form of it (`test.each(…)(…)`), otherwise the name of the member that is called. */
function calleeOf(call: AstNode): string {
  let callee = call["callee"] as AstNode;
  while (callee.type === "CallExpression") callee = callee["callee"] as AstNode;
  if (callee.type !== "MemberExpression") return textOf(callee);
  const object = textOf(callee["object"]);
  return DECLARES_TESTS.has(object) ? object : textOf(callee["property"]);
}

/** The text of an identifier, a private name or a literal; empty for any other node. */
function textOf(node: unknown): string {
  const { type, value } = node as AstNode;
  if (typeof value !== "string") return "";
  return type === "PrivateName" ? `#${value}` : value;
}

const DECLARES_TESTS: ReadonlySet<string> = new Set(["describe", "test"]);

/** Whether the statements of a function are those of a suite: tests and groups of tests. */
function declaresTests(node: AstNode): boolean {
  const body = (node["function"] as AstNode | undefined)?.["body"] ?? node["body"];
  const statements = ((body as AstNode | null)?.["stmts"] ?? []) as readonly AstNode[];
  return statements.some((statement) => {
    const expression = statement["expression"] as AstNode | undefined;
    return expression?.type === "CallExpression" && DECLARES_TESTS.has(calleeOf(expression));
  });
}
