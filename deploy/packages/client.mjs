/** The npm package `@perdure/client`: the typed clients of the management API and the Cloud API, for Node, browsers and other runtimes. */
import { renameSync } from "node:fs";
import { join } from "node:path";
import { bundle, root } from "../bundle.mjs";
import { NOTICES } from "../notices.mjs";
import { SBOM } from "../sbom.mjs";
import { emptyFolder, HERE, readJson, STAGE, writePapers } from "./tree.mjs";
import { writeTypes } from "./types.mjs";

const ENTRIES = { index: "index.ts", cloud: "cloud.ts", node: "node.ts" };
/** Declarations name types of these packages. */
const DEPENDENCIES = ["zod"];

/** Resolves with the folder of the package. */
export async function stageClient() {
  const folder = emptyFolder(STAGE, "client");
  const sources = Object.fromEntries(Object.entries(ENTRIES).map(([name, file]) => [name, join(HERE, "src/client", file)]));
  const { index, ...others } = sources;
  await bundle(index, join(folder, "dist"), {
    name: "index",
    program: "@perdure/client",
    others,
    isShipped: true,
    options: {
      platform: "neutral",
      mainFields: ["module", "main"],
      conditions: ["import"],
      external: [...DEPENDENCIES, "node:*"],
      target: "es2022",
      banner: {},
      sourcemap: false,
    },
  });
  for (const file of [NOTICES, SBOM]) renameSync(join(folder, "dist", file), join(folder, file));
  const outside = await writeTypes(sources, folder);
  const missing = [...outside].filter((name) => !DEPENDENCIES.includes(name));
  if (missing.length > 0) throw new Error(`declarations of @perdure/client name ${missing.join(", ")}`);
  const entry = (name) => ({ types: `./${name}.d.ts`, default: `./dist/${name}.mjs` });
  const manifest = {
    name: "@perdure/client",
    description: "Typed clients of Perdure: the management API, SQL and calls of an environment, and the Cloud API.",
    type: "module",
    sideEffects: false,
    types: "./index.d.ts",
    exports: { ".": entry("index"), "./cloud": entry("cloud"), "./node": entry("node"), "./package.json": "./package.json" },
    files: ["dist", "types", "*.d.ts", NOTICES, SBOM],
    engines: { node: ">=20" },
    dependencies: { zod: readJson(join(root, "libs/clients/admin-client/package.json")).dependencies.zod },
  };
  writePapers(folder, manifest, "client.md");
  return folder;
}
