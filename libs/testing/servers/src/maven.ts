/** Fetches programs of Java as jars from Maven Central, with all their dependencies, into a cache. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { cacheDirectory } from "./debian.js";
import { DOWNLOAD_MS_MAX, TOOL_OUTPUT_BYTES_MAX } from "./limits.js";

const run = promisify(execFile);

/** `group:artifact:version`. */
export type Coordinates = string;

/** A directory with the jars of all coordinates and of their runtime dependencies; `name` is the program and its version. */
export async function fetchedJars(name: string, artifacts: readonly Coordinates[]): Promise<string> {
  const directory = join(cacheDirectory(), name);
  if (existsSync(directory)) return directory;
  await mkdir(cacheDirectory(), { recursive: true });
  const work = await mkdtemp(join(cacheDirectory(), "fetch-"));
  try {
    await writeFile(join(work, "pom.xml"), projectOf(artifacts));
    const jars = join(work, "jars");
    const goal = ["-q", "-B", "dependency:copy-dependencies", `-DoutputDirectory=${jars}`, "-DincludeScope=runtime"];
    await run("mvn", goal, { cwd: work, timeout: DOWNLOAD_MS_MAX, maxBuffer: TOOL_OUTPUT_BYTES_MAX });
    await rename(jars, directory).catch((cause: NodeJS.ErrnoException) => {
      if (!existsSync(directory)) throw cause; // Otherwise another process was faster, with the same jars.
    });
    return directory;
  } catch (cause) {
    throw new Error(`${artifacts.join(", ")} cannot be fetched: this needs Maven and a repository it can reach`, { cause });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

function projectOf(artifacts: readonly Coordinates[]): string {
  const dependencies = artifacts.map((coordinates) => {
    const [group, artifact, version] = coordinates.split(":");
    return `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version></dependency>`;
  });
  return `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>dev.perdure</groupId><artifactId>fetch</artifactId><version>1</version>
<dependencies>${dependencies.join("\n")}</dependencies></project>`;
}
