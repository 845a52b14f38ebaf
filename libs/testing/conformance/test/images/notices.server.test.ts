/** Why: each bundle has the licences and the list of the packages in it, and none of them forbids redistribution. */

import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { programBundle, ROOT } from "@perdure/dev-cluster";
import { Ajv } from "ajv";
import * as formats from "ajv-formats";

const TEST_MS = 120_000;
const MIT = "Permission is hereby granted, free of charge, to anybody.";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "perdure-notices-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

/** A package with one module; `files` by name besides. */
function aPackage(name: string, manifest: object, files: Readonly<Record<string, string>> = {}): void {
  const home = `node_modules/${name}`;
  write(`${home}/package.json`, JSON.stringify({ name, version: "1.0.0", main: "index.js", ...manifest }));
  write(`${home}/index.js`, `export const value = ${JSON.stringify(name)};`);
  for (const [path, text] of Object.entries(files)) write(`${home}/${path}`, text);
}

/** Bundles a program that imports these packages, as the build does; resolves with the notices. */
async function built(...names: readonly string[]): Promise<string> {
  const imports = names.map((name, at) => `import { value as v${at} } from "${name}"; console.log(v${at});`);
  write("main.js", imports.join("\n"));
  const script = `import { bundle } from "./deploy/bundle.mjs"; await bundle(process.argv[1], process.argv[2], { isShipped: true });`;
  const args = ["--input-type=module", "-e", script, join(folder, "main.js"), join(folder, "dist")];
  await promisify(execFile)(process.execPath, args, { cwd: ROOT });
  return readFileSync(join(folder, "dist/THIRD-PARTY-NOTICES"), "utf8");
}

test(
  "a bundle has the licences of its packages beside it, wherever a package publishes its text",
  async () => {
    aPackage("with-file", { license: "MIT" }, { LICENSE: "Copyright A" });
    aPackage("with-readme", { license: "MIT" }, { "README.md": `# It\n\nDoes it.\n\n## License\n\nCopyright B\n\n${MIT}\n` });
    aPackage(
      "@of/repository",
      { license: "Apache-2.0", repository: { url: "git://x/of.git" } },
      { COPYING: "Copyright C", NOTICE: "D" },
    );
    aPackage("@of/addon", { license: "Apache-2.0", repository: { url: "git://x/of.git" } });
    aPackage("compiled", { license: "MIT" }, { "LICENSE.md": "Copyright E", "deps/cc/COPYING": "Copyright F" });
    aPackage("not-imported", { license: "GPL-3.0-only" });
    const notices = await built("with-file", "with-readme", "@of/repository", "@of/addon", "compiled");
    for (const text of ["with-file 1.0.0 (MIT)\n\nCopyright A", `Copyright B\n\n${MIT}`, "Copyright C\n\nD", "Copyright E"])
      expect(notices).toContain(text);
    expect(notices).toContain("@of/addon 1.0.0 (Apache-2.0)\n@of/repository 1.0.0 (Apache-2.0)\n");
    expect(notices).not.toContain("not-imported");
  },
  TEST_MS,
);

test(
  "the build fails, naming each package, when one has no licence text or a licence with copyleft",
  async () => {
    aPackage("textless", { license: "MIT" });
    aPackage("copyleft", { license: "MIT AND GPL-3.0-only" }, { LICENSE: "Copyleft" });
    aPackage("chosen", { license: "(GPL-2.0-only OR MIT)" }, { LICENSE: "Choose" });
    aPackage("unnamed", {}, { LICENSE: "What it is called is not said" });
    const failure = await built("textless", "copyleft", "chosen", "unnamed").catch((cause: Error) => cause.message);
    expect(failure).toContain("textless 1.0.0: it has no licence text; add deploy/licences/textless.txt");
    expect(failure).toContain("copyleft 1.0.0: its licence 'MIT AND GPL-3.0-only' is not one of those that may be shipped");
    expect(failure).toContain("unnamed 1.0.0: its licence '' is not");
    expect(failure).not.toContain("chosen 1.0.0");
    expect(existsSync(join(folder, "dist/main.mjs"))).toBe(false);
  },
  TEST_MS,
);

test(
  "what a program imports from outside its bundle is in its notices with what that needs, compiled sources too",
  async () => {
    const main = await programBundle("services/standalone");
    const notices = readFileSync(join(dirname(main), "THIRD-PARTY-NOTICES"), "utf8");
    for (const name of ["express", "classic-level", "node-gyp-build", "@duckdb/node-bindings", "@bufbuild/protobuf"])
      expect(notices).toMatch(new RegExp(`^${name} \\d`, "m"));
    expect(notices).toContain("The LevelDB Authors");
  },
  TEST_MS,
);

interface Sbom {
  readonly metadata: { readonly component: { readonly name: string; readonly version: string } };
  readonly components: readonly {
    readonly purl: string;
    readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
    readonly licenses: readonly { readonly expression: string }[];
  }[];
}

/** What the standard has against a document. */
function faultsOf(document: unknown): unknown {
  const folder = join(ROOT, "node_modules/@cyclonedx/cyclonedx-library/res/schema");
  const at = (name: string): object => JSON.parse(readFileSync(join(folder, name), "utf8")) as object;
  const referred = ["spdx.SNAPSHOT.schema.json", "jsf-0.82.SNAPSHOT.schema.json"];
  const schemas = Object.fromEntries(referred.map((name) => [`http://cyclonedx.org/schema/${name}`, at(name)]));
  const ajv = new Ajv({ strict: false, addUsedSchema: false, schemas, formats: { "iri-reference": true, "idn-email": true } });
  (formats.default as unknown as (ajv: Ajv) => void)(ajv);
  const isValid = ajv.compile(at("bom-1.6.SNAPSHOT.schema.json"));
  return isValid(document) ? [] : isValid.errors;
}

test(
  "a bundle has a bill of materials as CycloneDX says, with the packages of the notices and the digests of the lock file",
  async () => {
    const main = await programBundle("services/standalone");
    const sbom = JSON.parse(readFileSync(join(dirname(main), "sbom.cdx.json"), "utf8")) as Sbom;
    expect(faultsOf(sbom)).toEqual([]);
    expect(faultsOf({ ...sbom, components: [{ type: "library" }] })).not.toEqual([]);
    const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { readonly version: string };
    expect(sbom.metadata.component).toMatchObject({ name: "perdure-standalone", version });
    const notices = readFileSync(join(dirname(main), "THIRD-PARTY-NOTICES"), "utf8");
    const named = [...notices.matchAll(/^((?:@[\w.-]+\/)?[\w.-]+) (\d\S*) \(/gm)].map(([, name, of]) => `${name}@${of}`);
    const listed = sbom.components.map(({ purl }) => decodeURIComponent(purl.slice("pkg:npm/".length)));
    expect(listed.toSorted()).toEqual([...new Set(named)].toSorted());
    expect(listed.length).toBeGreaterThan(50);
    for (const { purl, hashes, licenses } of sbom.components) {
      expect([purl, hashes]).toEqual([purl, [{ alg: "SHA-512", content: expect.stringMatching(/^[0-9a-f]{128}$/) }]]);
      expect(licenses[0]?.expression).not.toBe("");
    }
  },
  TEST_MS,
);
