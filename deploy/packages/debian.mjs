/** The Debian package: the files of the tarball below `/usr/lib/perdure`, a systemd unit and a file of settings. `dpkg-deb` builds it. */
import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { emptyFolder, HERE, OUTPUT, STAGE, VERSION } from "./tree.mjs";

const ARCHITECTURES = { x64: "amd64", arm64: "arm64" };
/** What the prebuilt Node is linked with. */
const DEPENDS = "libc6 (>= 2.28), libstdc++6";
const SCRIPTS = ["postinst", "prerm", "postrm"];

/** Builds the package from the folder of the unpacked tarball; returns its path. */
export function packDebian(archive) {
  const architecture = ARCHITECTURES[process.arch];
  if (architecture === undefined) throw new Error(`there is no Debian package for ${process.arch}`);
  const folder = emptyFolder(STAGE, "debian");
  const home = join(folder, "usr/lib/perdure");
  cpSync(archive, home, { recursive: true, verbatimSymlinks: true });
  mkdirSync(join(folder, "usr/bin"));
  symlinkSync("../lib/perdure/bin/perdure", join(folder, "usr/bin/perdure"));
  copy("perdure.service", join(folder, "usr/lib/systemd/system"));
  copy("perdure.toml", join(folder, "etc/perdure"));
  const documents = join(folder, "usr/share/doc/perdure");
  copy("copyright", documents);
  const control = join(folder, "DEBIAN");
  for (const script of SCRIPTS) chmodSync(copy(script, control), 0o755);
  writeFileSync(join(control, "conffiles"), "/etc/perdure/perdure.toml\n");
  writeFileSync(join(control, "control"), controlFile(architecture, installedKiB(folder)));
  const path = join(OUTPUT, `perdure_${VERSION}_${architecture}.deb`);
  execFileSync("dpkg-deb", ["--root-owner-group", "-Zgzip", "-z5", "--build", folder, path], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  return path;
}

/** Whether this machine has what builds the package. */
export function canPackDebian() {
  try {
    execFileSync("dpkg-deb", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

function copy(file, target) {
  mkdirSync(target, { recursive: true });
  cpSync(join(HERE, "debian", file), join(target, file));
  chmodSync(join(target, file), 0o644);
  return join(target, file);
}

function installedKiB(folder) {
  const folders = readdirSync(folder).filter((name) => name !== "DEBIAN");
  const output = execFileSync("du", ["-sk", ...folders], { cwd: folder, encoding: "utf8" });
  return output.split("\n").reduce((sum, line) => sum + Number(line.split("\t")[0]), 0);
}

function controlFile(architecture, kib) {
  return `Package: perdure
Version: ${VERSION}
Architecture: ${architecture}
Maintainer: The Perdure authors <packages@perdure.dev>
Installed-Size: ${kib}
Depends: ${DEPENDS}
Section: net
Priority: optional
Homepage: https://perdure.dev
Description: durable execution server and command line
 Perdure stores each step of an ordinary handler before the next one begins,
 so that a crash of the handler, of the server or of the machine loses nothing
 and repeats nothing. The package has the server, every role of a cluster, the
 command line and the Node that runs them.
`;
}
