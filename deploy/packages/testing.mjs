/** The npm package `@perdure/testing`: the engine for a test's own process. Users keep the SDK that their services are written with. */
import { renameSync } from "node:fs";
import { join } from "node:path";
import { bundle, root } from "../bundle.mjs";
import { NOTICES } from "../notices.mjs";
import { SBOM } from "../sbom.mjs";
import { emptyFolder, keepDependencies, readJson, STAGE, writePapers } from "./tree.mjs";
import { writeTypes } from "./types.mjs";

const SOURCES = join(root, "services/test-environment");
/** Installed by the user, so that a test and its services share one copy. */
const PEERS = ["@restatedev/restate-sdk", "@restatedev/restate-sdk-clients"];
const OUTSIDE = new RegExp(`^(?:${PEERS.join("|")}|@node-rs/xxhash)(?:$|/)`);

/** Resolves with the folder of the package. */
export async function stageTesting() {
  const folder = emptyFolder(STAGE, "testing");
  const entry = join(SOURCES, "src/index.ts");
  const homes = new Map();
  await bundle(entry, join(folder, "dist"), {
    name: "index",
    program: "@perdure/testing",
    isShipped: true,
    keepOutside: (_, outside) => keepDependencies(OUTSIDE, outside, homes),
    options: { sourcemap: false, minifyWhitespace: true },
  });
  for (const file of [NOTICES, SBOM]) renameSync(join(folder, "dist", file), join(folder, file));
  const named = await writeTypes({ index: entry }, folder);
  const versions = new Map([...homes].map(([name, home]) => [name, readJson(join(home, "package.json")).version]));
  const missing = [...named].filter((name) => !PEERS.includes(name));
  if (missing.length > 0) throw new Error(`declarations of @perdure/testing name ${missing.join(", ")}`);
  const manifest = {
    name: "@perdure/testing",
    description:
      "Runs the engine of Perdure inside a test: time that the test moves, crashes at chosen steps, journals to compare.",
    type: "module",
    sideEffects: false,
    types: "./index.d.ts",
    exports: { ".": { types: "./index.d.ts", default: "./dist/index.mjs" }, "./package.json": "./package.json" },
    files: ["dist", "types", "index.d.ts", NOTICES, SBOM],
    engines: { node: ">=24" },
    dependencies: Object.fromEntries([...versions].filter(([name]) => !PEERS.includes(name))),
    peerDependencies: Object.fromEntries(PEERS.map((name) => [name, `^${versions.get(name)}`])),
  };
  writePapers(folder, manifest, "testing.md");
  return folder;
}
