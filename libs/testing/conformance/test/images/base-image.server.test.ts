/** The scripts that build images and renew the digest of their base, with a stand-in for Docker. */
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

describe("the script that builds images", () => {
  /** Runs the script with a Docker that reports the metadata of each build. */
  function built(metadata: string, ...args: readonly string[]) {
    const folder = mkdtempSync(join(tmpdir(), "perdure-build-"));
    try {
      const docker = [
        "#!/bin/sh",
        `echo "$*" >>'${folder}/requests'`,
        'while [ "$1" != --metadata-file ]; do shift; done',
        `echo '${metadata}' >"$2"`,
      ];
      writeFileSync(join(folder, "docker"), `${docker.join("\n")}\n`, { mode: 0o755 });
      const env = {
        ...process.env,
        PATH: `${folder}${delimiter}${process.env["PATH"] ?? ""}`,
        IMAGES: "worker cli",
        DIGESTS: join(folder, "digests"),
        SOURCE: "https://git.example.org/perdure",
      };
      writeFileSync(env.DIGESTS, "");
      const { status } = spawnSync("sh", [join(ROOT, "deploy/images/build.sh"), ...args], { env });
      const linesOf = (name: string): string[] => readFileSync(join(folder, name), "utf8").trimEnd().split("\n");
      return { status, digests: linesOf("digests"), requests: linesOf("requests") };
    } finally {
      rmSync(folder, { recursive: true });
    }
  }
  const DIGEST = `sha256:${"fedcba9876543210".repeat(4)}`;
  const METADATA = `{\n  "containerimage.digest": "${DIGEST}",\n  "image.name": "x"\n}`;

  test("pushes images with a bill of materials and provenance, and lists them by digest", () => {
    const { status, digests, requests } = built(METADATA, "registry.example.org", "1.2.3");
    expect(status).toBe(0);
    expect(digests).toEqual(["worker", "cli"].map((image) => `registry.example.org/perdure-${image}@${DIGEST}`));
    for (const request of requests) {
      expect(request).toContain("--push --platform linux/amd64,linux/arm64");
      expect(request).toContain("--sbom=true --provenance=mode=max");
      expect(request).toContain("--build-arg SOURCE=https://git.example.org/perdure");
    }
  });

  test("loads images for this machine without either, which an engine could not keep", () => {
    const { status, requests } = built(METADATA, "--load", "registry.example.org", "1.2.3");
    expect(status).toBe(0);
    expect(requests.filter((request) => /--sbom|--provenance|--platform/.test(request))).toEqual([]);
  });

  test("fails when an image that is to be signed has no digest", () => {
    const { status, requests } = built("{}", "registry.example.org", "1.2.3");
    expect(status).not.toBe(0);
    expect(requests).toHaveLength(1);
  });
});
