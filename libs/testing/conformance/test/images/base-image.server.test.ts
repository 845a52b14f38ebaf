/** The script that renews the digest of the base image, with a stand-in for Docker. */
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { ROOT } from "@perdure/dev-cluster";

const dockerfile = readFileSync(join(ROOT, "deploy/images/Dockerfile"), "utf8");

describe("the digest of the base image", () => {
  const DIGEST = `sha256:${"0123456789abcdef".repeat(4)}`;

  /** Runs the script on a copy of the Dockerfile, with a Docker that prints this. */
  function renewed(printed: string) {
    const folder = mkdtempSync(join(tmpdir(), "perdure-base-"));
    try {
      for (const name of ["Dockerfile", "renew-base.sh"]) copyFileSync(join(ROOT, "deploy/images", name), join(folder, name));
      writeFileSync(join(folder, "docker"), `#!/bin/sh\necho "$*" >>"$(dirname "$0")/requests"\necho '${printed}'\n`, {
        mode: 0o755,
      });
      const env = { ...process.env, PATH: `${folder}${delimiter}${process.env["PATH"] ?? ""}` };
      const { status } = spawnSync("sh", [join(folder, "renew-base.sh")], { env });
      const readCopy = (name: string): string => readFileSync(join(folder, name), "utf8");
      return { status, dockerfile: readCopy("Dockerfile"), requests: readCopy("requests") };
    } finally {
      rmSync(folder, { recursive: true });
    }
  }

  test("is renewed by a script, for the version that the Dockerfile names", () => {
    const { status, dockerfile: written, requests } = renewed(DIGEST);
    expect(status).toBe(0);
    const version = /^ARG NODE_VERSION=(.+)$/m.exec(dockerfile)?.[1];
    expect(requests).toContain(`buildx imagetools inspect node:${version}-bookworm-slim`);
    expect(written).toBe(dockerfile.replace(/^ARG NODE_DIGEST=.*$/m, `ARG NODE_DIGEST=${DIGEST}`));
  });

  test("stays when the registry answers with anything else", () => {
    expect(renewed("<no value>")).toMatchObject({ status: 1, dockerfile });
  });
});
