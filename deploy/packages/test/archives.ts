/** What `make packages` builds besides npm packages: the tarball, the Debian package and the Homebrew formula of this platform. */
import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { expect } from "@jest/globals";
import { expectDurableCall } from "./durable-call.js";
import { run } from "./package-managers.js";

/** No Node but the one of the archive is on the path, and the cache directory is empty. */
const environmentOf = (home: string) => ({
  PATH: "/usr/bin:/bin",
  HOME: home,
  XDG_CACHE_HOME: join(home, "xdg"),
  PERDURE_NODE: "",
});

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "perdure-archive-"));
  try {
    await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Unpacks the tarball in an empty folder and starts the server from there. */
export function expectArchiveStarts(tarball: string): Promise<void> {
  return inFolder(async (folder) => {
    await run("tar", ["-xzf", tarball, "-C", folder], folder, {});
    const perdure = join(folder, basename(tarball, ".tar.gz"), "bin/perdure");
    await expectDurableCall(perdure, environmentOf(folder));
  });
}

/** Extracts the package without installing it: the unit is valid, and the server starts from the extracted files. */
export function expectDebianPackage(deb: string, version: string): Promise<void> {
  return inFolder(async (folder) => {
    const fields = await run("dpkg-deb", ["-f", deb, "Package", "Version", "Depends"], folder, {});
    expect(fields.stdout).toContain(`Version: ${version}\n`);
    await run("dpkg-deb", ["-x", deb, folder], folder, {});
    await run("dpkg-deb", ["-e", deb, join(folder, "DEBIAN")], folder, {});
    for (const script of ["postinst", "prerm", "postrm"]) await run("sh", ["-n", join(folder, "DEBIAN", script)], folder, {});
    await expectUnit(folder);
    await expectDurableCall(join(folder, "usr/bin/perdure"), environmentOf(folder));
  });
}

/** The program of the unit exists, and so does its file of settings, which the server accepts. */
async function expectUnit(folder: string): Promise<void> {
  const unit = await readFile(join(folder, "usr/lib/systemd/system/perdure.service"), "utf8");
  const [, program = "", ...args] = /^ExecStart=(\S+) server --config-file (\S+) --base-dir (\S+)$/m.exec(unit) ?? [];
  expect([program, ...args]).toEqual(["/usr/bin/perdure", "/etc/perdure/perdure.toml", "/var/lib/perdure"]);
  const settings = ["server", "--config-file", join(folder, args[0] ?? ""), "--print-config"];
  const { stdout } = await run(join(folder, program), settings, folder, environmentOf(folder));
  expect(stdout).toContain("127.0.0.1");
  // The program is not where the installed unit expects it, so a copy of the unit names the extracted one.
  const copy = join(folder, "perdure.service");
  await writeFile(copy, unit.replaceAll(program, join(folder, program)));
  const verified = await run("systemd-analyze", ["verify", copy], folder, {}).catch(
    (cause: NodeJS.ErrnoException & { readonly stderr?: string }) => {
      if (cause.code === "ENOENT") return { stderr: "" }; // This machine has no systemd.
      throw cause;
    },
  );
  expect(verified.stderr?.split("\n").filter((line) => line.includes("perdure"))).toEqual([]);
}

/** The formula names the tarball that was built, by its digest. */
export async function expectFormula(formula: string, tarball: string): Promise<void> {
  const text = await readFile(formula, "utf8");
  const sha256 = createHash("sha256")
    .update(await readFile(tarball))
    .digest("hex");
  expect(text).toContain(`/${basename(tarball)}"\n      sha256 "${sha256}"\n`);
  const opened = text.match(/^ *class .*$|^ *def .*$|\bdo$/gm) ?? [];
  expect(text.match(/^ *end$/gm)).toHaveLength(opened.length);
  expect(dirname(formula)).toBe(dirname(tarball));
}
