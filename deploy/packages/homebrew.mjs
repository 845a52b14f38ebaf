/** The Homebrew formula: it installs the tarball of a release, which a tap then names by its address and digest. */
import { writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { OUTPUT, REPOSITORY, VERSION } from "./tree.mjs";

const SYSTEMS = { linux: "on_linux", darwin: "on_macos" };
const PROCESSORS = { x64: "on_intel", arm64: "on_arm" };

/** Writes `perdure.rb` for the tarballs that were built, and returns its path. `archives` have a path and a SHA-256. */
export function writeFormula(archives) {
  const path = join(OUTPUT, "perdure.rb");
  writeFileSync(path, formula(archives));
  return path;
}

function formula(archives) {
  return `class Perdure < Formula
  desc "Durable execution server, its command-line, and every role of a cluster"
  homepage "https://perdure.dev"
  version "${VERSION}"
  license "Apache-2.0"

${archives.map(download).join("\n")}
  def install
    libexec.install Dir["*"]
    bin.install_symlink libexec/"bin/perdure"
  end

  service do
    run [opt_bin/"perdure", "server", "--base-dir", var/"perdure"]
    keep_alive true
    log_path var/"log/perdure.log"
    error_log_path var/"log/perdure.log"
  end

  test do
    assert_equal "perdure #{version}", shell_output("#{bin}/perdure --version").strip
  end
end
`;
}

function download({ path, sha256 }) {
  const file = basename(path);
  const [, system, processor] = /-(linux|darwin)-(x64|arm64)\.tar\.gz$/.exec(file) ?? [];
  if (system === undefined || processor === undefined) throw new Error(`${file} names no platform of Homebrew`);
  return `  ${SYSTEMS[system]} do
    ${PROCESSORS[processor]} do
      url "${REPOSITORY}/releases/download/v${VERSION}/${file}"
      sha256 "${sha256}"
    end
  end
`;
}
