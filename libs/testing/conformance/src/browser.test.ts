/** The libraries that the console uses can be bundled for browsers, without modules of Node. */
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { build } from "esbuild";

test.each(["admin-client", "cloud-client"])("a browser can run %s", async (library) => {
  const { metafile, outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL(`../../../clients/${library}/src/index.ts`, import.meta.url))],
    bundle: true,
    platform: "browser",
    format: "esm",
    target: "es2023",
    write: false,
    outdir: "out",
    metafile: true,
    logLevel: "silent", // A module that cannot be resolved, such as one of Node, rejects.
  });
  const outside = Object.values(metafile.outputs).flatMap(({ imports }) => imports.map(({ path }) => path));
  expect(outside).toEqual([]);
  const text = outputFiles[0]?.text ?? "";
  expect(text.length).toBeGreaterThan(1000);
  for (const ofNode of [/\bBuffer\./, /\bprocess\./, /\brequire\("/]) expect(text).not.toMatch(ofNode);
});
