/**
 * Builds the console into `dist`, and the compressed forms beside every file, so that the host never compresses. The development server
 * (`pnpm --filter @perdure/console dev`) connects the page to the server of this machine at its usual ports.
 */
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

const ADMIN = process.env["PERDURE_ADMIN_URL"] ?? "http://localhost:9070";
const INGRESS = process.env["PERDURE_INGRESS_URL"] ?? "http://localhost:8080/";
/** Below it, compressed forms are hardly shorter. */
const COMPRESSED_BYTES_MIN = 1024;

function compressed(): Plugin {
  let directory = "";
  return {
    name: "compressed",
    apply: "build",
    configResolved({ root, build }) {
      directory = resolve(root, build.outDir);
    },
    // Only when everything was written: a failed build reports its own errors.
    writeBundle() {
      compressBelow(directory);
    },
  };
}

function compressBelow(directory: string): void {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) compressBelow(path);
    // The page itself differs from answer to answer.
    else if (/\.(js|css|svg|json)$/.test(entry.name) && statSync(path).size >= COMPRESSED_BYTES_MIN) {
      const bytes = readFileSync(path);
      const best = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
      writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params: best }));
      writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
    }
  }
}

/** Drops the descriptions of the management API's shapes: they are for its OpenAPI document, and browsers load them with the first page. */
function undescribed(): Plugin {
  return {
    name: "undescribed",
    apply: "build",
    enforce: "pre",
    transform: (code, id) =>
      id.includes("/admin-contract/src/") ? { code: code.replace(DESCRIPTION, ""), map: null } : undefined,
  };
}

const DESCRIPTION = /\s*\.describe\(\s*"(?:[^"\\]|\\.)*",?\s*\)/g;

/**
 * Leaves out how zod writes a schema as JSON Schema, which only makers of OpenAPI documents need: the types of zod refer to it, so no bundler drops
 * it. Each export becomes a function that returns undefined.
 */
function withoutJsonSchema(): Plugin {
  return {
    name: "without-json-schema",
    apply: "build",
    enforce: "pre",
    transform: (code, id) => (JSON_SCHEMA_MODULE.test(id) ? { code: emptied(code), map: null } : undefined),
  };
}

const JSON_SCHEMA_MODULE = /\/zod\/v4\/core\/(?:json-schema-processors|to-json-schema)\.js$/;

function emptied(code: string): string {
  const names = [...code.matchAll(/^export (?:const|function) (\w+)/gm)].map(([, name]) => `export const ${name} = nothing;`);
  const renamed = [...code.matchAll(/^export \{.*\};$/gm)].map(([statement]) => statement);
  return ["const nothing = () => undefined;", ...names, ...renamed].join("\n");
}

/** Writes which files are in the console, a path a line, for the builder of third-party notices; to the file that PERDURE_CONSOLE_MODULES names. */
function listed(): Plugin {
  const path = process.env["PERDURE_CONSOLE_MODULES"];
  return {
    name: "listed",
    apply: "build",
    generateBundle(_options, bundle) {
      if (path === undefined) return;
      const inChunks = Object.values(bundle).flatMap((one) => (one.type === "chunk" ? one.moduleIds : []));
      const styles = [...this.getModuleIds()].filter((id) => /\.css(?:\?|$)/.test(id)); // They are assets, which have no list of modules.
      writeFileSync(path, [...inChunks, ...styles].map((id) => id.replace(/\?.*$/, "")).join("\n"));
    },
  };
}

/** Placeholders that the host of the built page fills in. */
function filledIn(): Plugin {
  const boot = { kind: "local", ingressUrl: INGRESS, canCrash: true, version: "dev", docsUrl: "https://perdure.dev/docs" };
  return {
    name: "filled-in",
    apply: "serve",
    transformIndexHtml: (text) =>
      text.replaceAll("__BASE__", "/").replaceAll("__NONCE__", "").replace("__BOOT__", JSON.stringify(boot)),
  };
}

/** Small modules that each page needs. In files of their own they would take more bytes for headers than for code. */
const OF_EACH_PAGE = /\/console\/src\/shell\/(?:docs-link|nonce|page-keys|palette-sources|trace-link)\.tsx?$/;

export default defineConfig({
  base: "./",
  plugins: [undescribed(), withoutJsonSchema(), react(), compressed(), listed(), filledIn()],
  build: {
    target: "es2023",
    sourcemap: false,
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    // Reachable only through exports of `@perdure/base` that no page uses, which are dropped.
    rolldownOptions: {
      external: ["@node-rs/xxhash-wasm32-wasi"],
      output: { codeSplitting: { groups: [{ name: "shell", test: OF_EACH_PAGE }] } },
    },
  },
  server: { proxy: { "/v4": { target: ADMIN, changeOrigin: false } } },
});
