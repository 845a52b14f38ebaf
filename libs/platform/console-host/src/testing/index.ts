/** Builds a console of two files for tests of packages that serve the console. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";

export interface TinyConsole extends AsyncDisposable {
  readonly directory: string;
}

export const TINY_SCRIPT = `console.log(${JSON.stringify("perdure ".repeat(200))});`;
/** Below the base. */
export const TINY_SCRIPT_PATH = "assets/index-AbCd_123.js";

const PAGE = `<!doctype html>
<html lang="en">
<head>
<base href="__BASE__">
<meta property="csp-nonce" content="__NONCE__">
<title>Perdure</title>
<script type="application/json" id="boot">__BOOT__</script>
<script type="module" nonce="__NONCE__" src="./${TINY_SCRIPT_PATH}"></script>
</head>
<body></body>
</html>
`;

/** Like the output of a build, in a directory that is removed with it. */
export async function writeTinyConsole(): Promise<TinyConsole> {
  const directory = await mkdtemp(join(tmpdir(), "perdure-console-"));
  await mkdir(join(directory, "assets"));
  await writeFile(join(directory, "index.html"), PAGE);
  await writeFile(join(directory, "favicon.svg"), "<svg/>");
  await writeFile(join(directory, TINY_SCRIPT_PATH), TINY_SCRIPT);
  await writeFile(join(directory, `${TINY_SCRIPT_PATH}.br`), brotliCompressSync(TINY_SCRIPT));
  await writeFile(join(directory, `${TINY_SCRIPT_PATH}.gz`), gzipSync(TINY_SCRIPT));
  return { directory, [Symbol.asyncDispose]: () => rm(directory, { recursive: true }) };
}
