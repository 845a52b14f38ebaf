/**
 * Determines what a suite starts, for the rule that its suffix must name it. Follows a suite's imports from declaration to declaration (so
 * that an unused export of a barrel does not count) to the functions that start processes, servers and browsers.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { parseSync } from "@swc/core";

/** Files whose declarations start programs of this suffix; `node:child_process` is the module of Node. */
const STARTERS: Readonly<Record<string, string>> = {
  "node:child_process": "server",
  "libs/testing/servers/src/redis.ts": "redis",
  "libs/testing/servers/src/postgres.ts": "postgres",
  "libs/testing/servers/src/database.ts": "postgres",
  "libs/testing/servers/src/kafka.ts": "kafka",
  "libs/testing/servers/src/browser.ts": "browser",
  "libs/testing/servers/src/kubernetes.ts": "k8s",
  "libs/testing/servers/src/kubectl.ts": "k8s",
  "libs/testing/servers/src/helm.ts": "k8s",
  "libs/testing/servers/src/image-tools.ts": "k8s",
  "libs/testing/servers/src/promtool.ts": "debian",
  "libs/testing/servers/src/shells.ts": "debian",
  "libs/testing/servers/src/shellcheck.ts": "debian",
  "libs/testing/dev-cluster/src/dev-cluster.ts": "cluster",
  "libs/testing/conformance/src/images/image-builder.ts": "images",
};

/** Name for all declarations of a module. */
const ALL = "*";

interface ImportedName {
  readonly from: string;
  /** `*` for a namespace. */
  readonly name: string;
}

interface Declaration {
  /** Identifiers in expressions, for any binding. */
  readonly identifiers: ReadonlySet<string>;
  /** Specifiers of dynamic imports. */
  readonly dynamicImports: readonly string[];
}

interface Module {
  readonly declarations: ReadonlyMap<string, Declaration>;
  /** Statements that run when the module is loaded, and exports without a name. */
  readonly statements: readonly Declaration[];
  readonly imports: ReadonlyMap<string, ImportedName>;
  readonly reexports: ReadonlyMap<string, ImportedName>;
  readonly starReexports: readonly string[];
  readonly sideEffectImports: readonly string[];
}

interface AstNode {
  readonly type: string;
  readonly [key: string]: unknown;
}

interface ModuleExport {
  readonly module: string;
  readonly name: string;
}

export class StartedPrograms {
  readonly #root: string;
  readonly #packages: ReadonlyMap<string, string>;
  readonly #modules = new Map<string, Module>();
  readonly #exports = new Map<string, Readonly<Record<string, string>>>();
  readonly #files = new Map<string, string | undefined>();
  readonly #targets = new Map<string, readonly ModuleExport[]>();
  readonly #startsByPath = new Map<string, ReadonlyMap<string, string>>();

  /** `packages`: the folder of each package, below `root`, by the package's name. */
  constructor(root: string, packages: ReadonlyMap<string, string>) {
    this.#root = root;
    this.#packages = packages;
  }

  /** Suffixes of programs that the suite at `path` (below the root) may start, each with the chain of declarations that leads there. */
  of(path: string): ReadonlyMap<string, string> {
    let starts = this.#startsByPath.get(path);
    if (starts === undefined) {
      starts = this.#follow(path);
      this.#startsByPath.set(path, starts);
    }
    return starts;
  }

  #follow(path: string): ReadonlyMap<string, string> {
    const starts = new Map<string, string>();
    const visited = new Set<string>();
    const queue: { readonly module: string; readonly name: string; readonly chain: string }[] = [
      { module: path, name: ALL, chain: path },
    ];
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      const { module, name, chain } = next;
      if (visited.has(`${module}#${name}`)) continue;
      visited.add(`${module}#${name}`);
      const isOfNode = module.startsWith("node:");
      const isDeclared = isOfNode || name === ALL || this.#module(module).declarations.has(name);
      const suffix = isDeclared ? STARTERS[module] : undefined;
      if (suffix !== undefined) starts.set(suffix, chain);
      // What a starter itself starts is covered by its suffix.
      if (suffix !== undefined || isOfNode) continue;
      for (const target of this.#targetsOf(module, name)) {
        queue.push({ ...target, chain: `${chain} → ${target.module}#${target.name}` });
      }
    }
    return starts;
  }

  #targetsOf(path: string, name: string): readonly ModuleExport[] {
    const key = `${path}#${name}`;
    let targets = this.#targets.get(key);
    if (targets === undefined) {
      targets = this.#readTargets(path, name);
      this.#targets.set(key, targets);
    }
    return targets;
  }

  #readTargets(path: string, name: string): readonly ModuleExport[] {
    const module = this.#module(path);
    const targets: ModuleExport[] = [];
    const add = (from: string, imported: string): void => {
      const target = this.#resolve(path, from);
      if (target !== undefined) targets.push({ module: target, name: imported });
    };
    const follow = (declaration: Declaration): void => {
      for (const identifier of declaration.identifiers) {
        const imported = module.imports.get(identifier);
        if (imported !== undefined) add(imported.from, imported.name);
        else if (identifier !== name && module.declarations.has(identifier)) targets.push({ module: path, name: identifier });
      }
      for (const specifier of declaration.dynamicImports) add(specifier, ALL);
    };
    if (name === ALL) {
      for (const declaration of [...module.declarations.values(), ...module.statements]) follow(declaration);
      for (const { from, name: imported } of module.reexports.values()) add(from, imported);
      for (const from of [...module.starReexports, ...module.sideEffectImports]) add(from, ALL);
      return targets;
    }
    const declaration = module.declarations.get(name);
    const reexport = module.reexports.get(name);
    if (declaration !== undefined) follow(declaration);
    else if (reexport !== undefined) add(reexport.from, reexport.name);
    else if (name === "default") for (const statement of module.statements) follow(statement);
    else for (const from of module.starReexports) add(from, name);
    return targets;
  }

  /** A path below the root, or a module of Node; undefined for foreign packages and for data. */
  #resolve(importer: string, specifier: string): string | undefined {
    if (specifier.startsWith("node:")) return specifier;
    if (specifier.startsWith(".")) return this.#file(join(dirname(importer), specifier));
    const [scope, name, ...rest] = specifier.split("/");
    const folder = this.#packages.get(`${scope}/${name}`);
    if (folder === undefined) return undefined;
    const exports = this.#exportsOf(folder);
    const target = exports[rest.length === 0 ? "." : `./${rest.join("/")}`];
    if (target !== undefined) return this.#file(join(folder, target));
    const [pattern, below] = Object.entries(exports).find(([key]) => key.endsWith("/*")) ?? [];
    return pattern === undefined || below === undefined
      ? undefined
      : this.#file(join(folder, below.replace("*", rest.at(-1) ?? "")));
  }

  #exportsOf(folder: string): Readonly<Record<string, string>> {
    let exports = this.#exports.get(folder);
    if (exports === undefined) {
      const manifest = readFileSync(join(this.#root, folder, "package.json"), "utf8");
      exports = (JSON.parse(manifest) as { readonly exports?: Readonly<Record<string, string>> }).exports ?? {};
      this.#exports.set(folder, exports);
    }
    return exports;
  }

  #file(path: string): string | undefined {
    if (!this.#files.has(path)) this.#files.set(path, this.#findFile(path));
    return this.#files.get(path);
  }

  #findFile(path: string): string | undefined {
    const candidates = [path, path.replace(/\.js$/, ".ts"), path.replace(/\.js$/, ".tsx")];
    // Generated messages start nothing, and are the largest files.
    const isLeaf = (one: string): boolean => !/\.(tsx?|mjs)$/.test(one) || /[/\\]gen[/\\]/.test(one);
    const match = candidates.find((one) => !isLeaf(one) && existsSync(resolve(this.#root, one)));
    return match === undefined ? undefined : relative(this.#root, resolve(this.#root, match));
  }

  #module(path: string): Module {
    let module = this.#modules.get(path);
    if (module === undefined) {
      module = parse(readFileSync(join(this.#root, path), "utf8"), path);
      this.#modules.set(path, module);
    }
    return module;
  }
}

// ── one module ───────────────────────────────────────────────────────────────────────────────────

function parse(source: string, path: string): Module {
  const syntax = path.endsWith(".mjs")
    ? ({ syntax: "ecmascript" } as const)
    : ({ syntax: "typescript", tsx: path.endsWith(".tsx") } as const);
  const body = parseSync(source, { ...syntax, target: "esnext" }).body as unknown as readonly AstNode[];
  const module = {
    declarations: new Map<string, Declaration>(),
    statements: [] as Declaration[],
    imports: new Map<string, ImportedName>(),
    reexports: new Map<string, ImportedName>(),
    starReexports: [] as string[],
    sideEffectImports: [] as string[],
  };
  for (const item of body) readItem(item, module);
  return module;
}

type MutableModule = {
  -readonly [K in keyof Module]: Module[K] extends ReadonlyMap<infer A, infer B>
    ? Map<A, B>
    : Module[K] extends readonly (infer T)[]
      ? T[]
      : never;
};

const textOf = (node: unknown): string => (node as { readonly value: string }).value;

function readItem(item: AstNode, module: MutableModule): void {
  switch (item.type) {
    case "ImportDeclaration":
      return readImport(item, module);
    case "ExportAllDeclaration":
      if (item["typeOnly"] !== true) module.starReexports.push(textOf(item["source"]));
      return;
    case "ExportNamedDeclaration":
      return readExport(item, module);
    case "ExportDeclaration":
      return readItem(item["declaration"] as AstNode, module);
    case "ClassDeclaration":
    case "FunctionDeclaration":
      module.declarations.set(textOf(item["identifier"]), used(item));
      return;
    case "VariableDeclaration":
      for (const declarator of item["declarations"] as readonly AstNode[]) {
        const declaration = used(declarator);
        for (const name of boundNames(declarator["id"] as AstNode)) module.declarations.set(name, declaration);
      }
      return;
    default:
      if (!item.type.startsWith("Ts")) module.statements.push(used(item));
  }
}

function readImport(item: AstNode, module: MutableModule): void {
  if (item["typeOnly"] === true) return;
  const from = textOf(item["source"]);
  const specifiers = item["specifiers"] as readonly AstNode[];
  if (specifiers.length === 0) module.sideEffectImports.push(from);
  for (const specifier of specifiers) {
    if (specifier["isTypeOnly"] === true) continue;
    const local = textOf(specifier["local"]);
    const imported =
      specifier["imported"] === null || specifier["imported"] === undefined ? local : textOf(specifier["imported"]);
    const name =
      specifier.type === "ImportNamespaceSpecifier" ? ALL : specifier.type === "ImportDefaultSpecifier" ? "default" : imported;
    module.imports.set(local, { from, name });
  }
}

function readExport(item: AstNode, module: MutableModule): void {
  if (item["typeOnly"] === true) return;
  const from = item["source"] === null || item["source"] === undefined ? undefined : textOf(item["source"]);
  for (const specifier of item["specifiers"] as readonly AstNode[]) {
    if (specifier["isTypeOnly"] === true) continue;
    if (specifier.type !== "ExportSpecifier") {
      if (from !== undefined) module.reexports.set(textOf(specifier["name"]), { from, name: ALL });
      continue;
    }
    const original = textOf(specifier["orig"]);
    const exported =
      specifier["exported"] === null || specifier["exported"] === undefined ? original : textOf(specifier["exported"]);
    if (from !== undefined) module.reexports.set(exported, { from, name: original });
    else if (exported !== original) module.declarations.set(exported, { identifiers: new Set([original]), dynamicImports: [] });
  }
}

function boundNames(pattern: AstNode): string[] {
  if (pattern.type === "Identifier") return [pattern["value"] as string];
  const names: string[] = [];
  walk(pattern, (node) => {
    if (node.type === "Identifier") names.push(node["value"] as string);
  });
  return names;
}

/** Identifiers that are used as values below a node. */
function used(root: AstNode): Declaration {
  const identifiers = new Set<string>();
  const dynamicImports: string[] = [];
  walk(root, (node) => {
    if (node.type === "Identifier") identifiers.add(node["value"] as string);
    if (node.type === "CallExpression" && (node["callee"] as AstNode).type === "Import") {
      const [argument] = node["arguments"] as readonly { readonly expression: AstNode }[];
      if (argument?.expression.type === "StringLiteral") dynamicImports.push(textOf(argument.expression));
    }
  });
  return { identifiers, dynamicImports };
}

/** Every node below, without types, names of properties, and names of members. */
function walk(node: unknown, visit: (node: AstNode) => void): void {
  if (Array.isArray(node)) {
    for (const one of node) walk(one, visit);
    return;
  }
  if (typeof node !== "object" || node === null) return;
  const { type } = node as Partial<AstNode>;
  if (type?.startsWith("Ts") && type !== "TsAsExpression") {
    return walk((node as AstNode)["expression"], visit);
  }
  if (type !== undefined) visit(node as AstNode);
  for (const [key, child] of Object.entries(node)) {
    if (type === "MemberExpression" && key === "property" && (child as AstNode).type === "Identifier") continue;
    if (key === "key" && (child as AstNode | null)?.type === "Identifier") continue;
    walk(child, visit);
  }
}
