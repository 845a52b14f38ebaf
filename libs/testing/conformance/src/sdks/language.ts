/**
 * The published SDKs as data: how to build the endpoint, how to start it, and what it supports. The endpoints of all languages serve the
 * same services (see sdks/README.md).
 */

import { join } from "node:path";
import { ROOT } from "@perdure/dev-cluster";

type LanguageName = "python" | "go" | "java" | "rust";

/** Transport of an endpoint; `h2` is without TLS, by prior knowledge. */
export type SdkTransport = "h2-stream" | "h2-request-response" | "h1-request-response";

export interface Tool {
  readonly command: string;
  readonly versionArgs: readonly string[];
  /** Oldest version of the tool that can build the endpoint: major and minor. */
  readonly since: readonly [major: number, minor: number];
}

export interface BuildStep {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface SdkLanguage {
  readonly name: LanguageName;
  /** Name of the package, and the version that the lock files pin. */
  readonly sdk: string;
  readonly version: string;
  /** Range of service protocol versions in its manifest; a run checks it. */
  readonly speaks: readonly [min: number, max: number];
  readonly sources: string;
  readonly tools: readonly Tool[];
  /** Build steps in order, in the folder of the sources; `output` is a folder of the cache. */
  readonly build: (output: string) => readonly BuildStep[];
  readonly start: (output: string) => BuildStep;
  readonly transports: readonly SdkTransport[];
  /** The tutorial's services in this language, where there is a tutorial. */
  readonly tutorial?: Pick<SdkLanguage, "sources" | "build" | "start">;
  /** Services of the scenarios that cannot be implemented with this SDK, with the reason. */
  readonly lacks: Readonly<Record<string, string>>;
}

const SOURCES = join(ROOT, "libs/testing/conformance/sdks");
const EXAMPLES = join(ROOT, "deploy/examples");

const virtualEnvironment = (output: string): readonly BuildStep[] => [
  { command: "python3", args: ["-m", "venv", "--clear", join(output, "venv")] },
  { command: join(output, "venv/bin/pip"), args: ["install", "--quiet", "--requirement", "requirements.txt"] },
];

const goBuild = (output: string): readonly BuildStep[] => [
  { command: "go", args: ["build", "-p", "1", "-buildvcs=false", "-o", join(output, "endpoint"), "."] },
];

const mavenBuild = (output: string): readonly BuildStep[] => [
  { command: "mvn", args: ["--quiet", "--batch-mode", `-Dbuild.folder=${join(output, "target")}`, "clean", "process-classes"] },
];

/** Compiling little and using one collector thread keeps the start short on a machine of two cores. */
const javaProgram = (output: string, main: string): BuildStep => ({
  command: "java",
  args: [
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-cp",
    `${join(output, "target/classes")}:${join(output, "target/lib")}/*`,
    main,
  ],
});

const python: SdkLanguage = {
  name: "python",
  sdk: "restate-sdk",
  version: "1.3.0",
  speaks: [5, 7],
  sources: join(SOURCES, "python"),
  tools: [{ command: "python3", versionArgs: ["--version"], since: [3, 10] }],
  build: virtualEnvironment,
  start: (output) => ({ command: join(output, "venv/bin/python"), args: ["-B", join(SOURCES, "python/endpoint.py")] }),
  tutorial: {
    sources: join(EXAMPLES, "tutorial-python"),
    build: virtualEnvironment,
    start: (output) => ({ command: join(output, "venv/bin/python"), args: ["-B", join(EXAMPLES, "tutorial-python/main.py")] }),
  },
  transports: ["h2-stream", "h2-request-response", "h1-request-response"],
  lacks: {},
};

const go: SdkLanguage = {
  name: "go",
  sdk: "github.com/restatedev/sdk-go",
  version: "1.2.0",
  speaks: [5, 7],
  sources: join(SOURCES, "go"),
  tools: [{ command: "go", versionArgs: ["version"], since: [1, 25] }],
  build: goBuild,
  start: (output) => ({ command: join(output, "endpoint"), args: [] }),
  tutorial: {
    sources: join(EXAMPLES, "tutorial-go"),
    build: goBuild,
    start: (output) => ({ command: join(output, "endpoint"), args: [] }),
  },
  transports: ["h2-stream", "h2-request-response"],
  lacks: {},
};

const java: SdkLanguage = {
  name: "java",
  sdk: "dev.restate:sdk-java-http",
  version: "2.4.0",
  speaks: [5, 6],
  sources: join(SOURCES, "java"),
  tools: [
    { command: "javac", versionArgs: ["-version"], since: [17, 0] },
    { command: "mvn", versionArgs: ["--version"], since: [3, 8] },
  ],
  build: mavenBuild,
  start: (output) => javaProgram(output, "dev.perdure.conformance.Main"),
  tutorial: {
    sources: join(EXAMPLES, "tutorial-java"),
    build: mavenBuild,
    start: (output) => javaProgram(output, "tutorial.Main"),
  },
  transports: ["h2-stream", "h2-request-response", "h1-request-response"],
  lacks: { Flag: "the Java SDK has no named signals" },
};

const rust: SdkLanguage = {
  name: "rust",
  sdk: "restate-sdk",
  version: "0.13.0",
  speaks: [5, 7],
  sources: join(SOURCES, "rust"),
  tools: [{ command: "cargo", versionArgs: ["--version"], since: [1, 90] }],
  build: (output) => [
    {
      command: "cargo",
      args: ["build", "--quiet", "--locked"],
      env: { CARGO_TARGET_DIR: join(output, "target"), CARGO_BUILD_JOBS: "1" },
    },
  ],
  start: (output) => ({ command: join(output, "target/debug/perdure-conformance-rust"), args: [] }),
  transports: ["h2-stream"],
  lacks: {},
};

export const LANGUAGES: readonly SdkLanguage[] = [python, go, java, rust];
