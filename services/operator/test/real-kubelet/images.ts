/** Maps an image, by its name, to a program of this tree, or to one of a server that tests have anyway. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { redisProgram } from "@perdure/servers";

export interface Image {
  /** Command of a container that names none. */
  readonly entrypoint: readonly string[];
  /** Put in front of PATH. */
  readonly path: string;
  readonly environment: Readonly<Record<string, string>>;
}

const SERVICES: Readonly<Record<string, string>> = {
  "perdure-worker": "invoker-worker",
  "perdure-registry": "registry",
  "perdure-gateway": "ingress-gateway",
  "perdure-admin": "admin-api",
};

export const PROGRAMS: readonly string[] = Object.values(SERVICES);

const DOCKERFILE = fileURLToPath(new URL("../../../../deploy/images/Dockerfile", import.meta.url));
const NETWORK = pathToFileURL(fileURLToPath(new URL("pod-network.mjs", import.meta.url))).href;

/** Writes what images need into `directory`; the result throws for an unknown image. */
export async function imagesIn(directory: string): Promise<(reference: string) => Image> {
  const redis = await redisImage(directory);
  const stages = (await readFile(DOCKERFILE, "utf8")).split(/^FROM /m);
  return (reference) => {
    const [name = ""] = (reference.split("/").at(-1) ?? "").split(":");
    if (name === "redis") return redis;
    const service = SERVICES[name];
    if (service === undefined) throw new Error(`no program is known for the image ${reference}`);
    const main = fileURLToPath(new URL(`../../../${service}/dist/main.mjs`, import.meta.url));
    const stage = stages.find((text) => text.startsWith(`base AS ${name.slice("perdure-".length)}\n`)) ?? "";
    return { entrypoint: [process.execPath, `--import=${NETWORK}`, main], path: "", environment: addressesOf(stage) };
  };
}

/** The addresses on which the image's program listens. */
function addressesOf(stage: string): Readonly<Record<string, string>> {
  return Object.fromEntries([...stage.matchAll(/(PERDURE_\w+__BIND_ADDRESS)=(\S+)/g)].map(([, name, value]) => [name, value]));
}

/** The two programs of Redis do not use the network of pods, so wrappers set their addresses. */
async function redisImage(directory: string): Promise<Image> {
  const { path, env } = await redisProgram();
  const bin = join(directory, "redis-image");
  await mkdir(bin, { recursive: true });
  const script = (command: string): string => `#!/bin/sh\nexec ${command}\n`;
  await writeFile(join(bin, "redis-server"), script(`"${path}" "$@" --bind "$POD_ADDRESS"`), { mode: 0o755 });
  const cli = join(dirname(path), "redis-cli");
  await writeFile(join(bin, "redis-cli"), script(`"${cli}" -h "$POD_ADDRESS" "$@"`), { mode: 0o755 });
  return { entrypoint: ["redis-server"], path: bin, environment: env };
}
