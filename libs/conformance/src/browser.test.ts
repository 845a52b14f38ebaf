/** Why: the console is a caller too: what our clients are entered by must be bundled for browsers as it is, without anything of Node's. */
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { build } from "esbuild";

test.each(["admin-client", "cloud-client"])("a browser can run %s", async (library) => {
  const { metafile, outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL(`../../${library}/src/index.ts`, import.meta.url))],
    bundle: true,
    platform: "browser",
    format: "esm",
    target: "es2023",
    write: false,
    outdir: "out",
    metafile: true,
    logLevel: "silent", // What cannot be resolved, such as a module of Node's, rejects.
  });
  const outside = Object.values(metafile.outputs).flatMap(({ imports }) => imports.map(({ path }) => path));
  expect(outside).toEqual([]);
  const text = outputFiles[0]?.text ?? "";
  expect(text.length).toBeGreaterThan(1000);
  for (const ofNode of [/\bBuffer\./, /\bprocess\./, /\brequire\("/]) expect(text).not.toMatch(ofNode);
});
