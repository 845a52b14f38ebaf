/**
 * The suffix of a suite's name states what the suite needs, and a tier is a set of suites that need the same. The Makefile, Jest's
 * configuration, the runner and the test over the tree all take the tiers from here. This file is also loaded by Node directly (type
 * stripping), so it imports nothing.
 */

export type TierName = "check" | "node" | "db" | "kafka" | "browser" | "k8s" | "images" | "packages" | "examples";

/** A program that the suites of a tier start. One of `programs`, `cached` or `isInDebian` is enough. */
export interface ProgramNeed {
  /** Names on the PATH, or absolute paths. */
  readonly programs: readonly string[];
  /** Beginning of the name of a folder in the cache: the program was fetched or compiled before. */
  readonly cached?: string;
  /** Whether Debian's package tools can fetch it into the cache, without an installation. */
  readonly isInDebian?: boolean;
  /** `<platform>-<architecture>` where a package of the lock file brings it. */
  readonly inLockFileOn?: string;
  /** The sentence that ends the tier when the requirement is missing; it states what to install. */
  readonly missing: string;
}

export interface Tier {
  readonly name: TierName;
  /** The target of the Makefile. */
  readonly target: string;
  /** Parts of a suite's name before `.test.ts`; the empty suffix is a suite that needs only Node and starts no process. */
  readonly suffixes: readonly string[];
  readonly needs: readonly ProgramNeed[];
}

const REDIS: ProgramNeed = {
  programs: ["redis-server"],
  cached: "redis",
  isInDebian: true,
  missing: "Redis is missing: install it (`redis-server` on the PATH), or use Debian, whose packages are fetched.",
};
const POSTGRES: ProgramNeed = {
  programs: ["initdb", "/usr/lib/postgresql"],
  cached: "postgresql",
  isInDebian: true,
  missing: "PostgreSQL is missing: install it (`initdb` on the PATH), or use Debian, whose packages are fetched.",
};
const PROMTOOL: ProgramNeed = {
  programs: ["promtool"],
  cached: "prometheus",
  isInDebian: true,
  missing: "promtool is missing: install Prometheus (`promtool` on the PATH), or use Debian, whose packages are fetched.",
};
const GO: ProgramNeed = {
  programs: ["go"],
  cached: "kubernetes-",
  missing: "Go is missing: install Go 1.26 (`go` on the PATH), which compiles a Kubernetes control plane, kubectl and Helm once.",
};
const JAVA: ProgramNeed = {
  programs: ["java"],
  missing: "Java is missing: install Java 17 (`java` on the PATH), which runs Kafka.",
};
const MAVEN: ProgramNeed = {
  programs: ["mvn"],
  cached: "kafka-",
  missing: "Maven is missing: install it (`mvn` on the PATH), which fetches Kafka once.",
};
const PYTHON: ProgramNeed = {
  programs: ["python3"],
  missing: "Python is missing: install Python 3.10 with venv (`python3` on the PATH), whose SDK runs examples.",
};
const GO_FOR_SDK: ProgramNeed = {
  programs: ["go"],
  missing: "Go is missing: install Go 1.25 (`go` on the PATH), whose SDK runs examples.",
};
const JAVA_FOR_SDK: ProgramNeed = {
  programs: ["javac"],
  missing: "Java is missing: install a JDK of version 17 (`javac` on the PATH), whose SDK runs examples.",
};
const MAVEN_FOR_SDK: ProgramNeed = {
  programs: ["mvn"],
  missing: "Maven is missing: install it (`mvn` on the PATH), which builds examples in Java.",
};
const CARGO: ProgramNeed = {
  programs: ["cargo"],
  missing: "Rust is missing: install Rust 1.90 (`cargo` on the PATH), whose SDK serves a project of perdure dev.",
};
const LSOF: ProgramNeed = {
  programs: ["lsof"],
  missing: "lsof is missing: install it (`lsof` on the PATH), which a command of the tutorial of the cluster needs.",
};
const CHROMIUM: ProgramNeed = {
  programs: ["chromium", "chromium-browser", "google-chrome", "chrome"],
  inLockFileOn: "linux-x64",
  missing: "Chromium is missing: install it (`chromium` on the PATH); the lock file brings it for Linux on x64 only.",
};
const DATABASES = [REDIS, POSTGRES] as const;

/** Tiers in order: a suite with suffixes of several tiers belongs to the last of them. */
export const TIERS: readonly Tier[] = [
  { name: "node", target: "test", suffixes: ["", "server"], needs: [] },
  // Rules of the tree: they read every source, so `make check` runs them and `make test` does not run them again.
  { name: "check", target: "check", suffixes: ["tree"], needs: [] },
  {
    name: "db",
    target: "test-db",
    // `cluster`: PostgreSQL, Redis and every role. `debian`: small programs of Debian's packages (promtool, shells, ShellCheck).
    // `namespace`: a network of its own, where the machine allows it.
    suffixes: ["redis", "postgres", "cluster", "debian", "namespace"],
    needs: [...DATABASES, PROMTOOL],
  },
  { name: "kafka", target: "test-kafka", suffixes: ["kafka"], needs: [JAVA, MAVEN, LSOF, ...DATABASES] },
  { name: "browser", target: "test-browser", suffixes: ["browser"], needs: [CHROMIUM, ...DATABASES] },
  { name: "k8s", target: "test-k8s", suffixes: ["k8s"], needs: [GO, ...DATABASES, PROMTOOL] },
  { name: "images", target: "test-images", suffixes: ["images"], needs: [GO, ...DATABASES] },
  // Installs packages with npm, pnpm, Yarn and Bun, which come from the registry that npm is configured for.
  { name: "packages", target: "test-packages", suffixes: ["packages"], needs: [] },
  // Examples and projects of `perdure dev` in the languages of the SDKs; the scenarios of every SDK are `make test-sdks`.
  {
    name: "examples",
    target: "test-examples",
    suffixes: ["sdks"],
    needs: [PYTHON, GO_FOR_SDK, JAVA_FOR_SDK, MAVEN_FOR_SDK, CARGO],
  },
];

const TIER_SUFFIXES: ReadonlySet<string> = new Set(TIERS.flatMap(({ suffixes }) => suffixes));

/** `a/archive.postgres.redis.test.ts` → `["postgres", "redis"]`. Undefined for a path that is not a suite. */
export function suffixesOf(path: string): readonly string[] | undefined {
  const [, name] = /([^/\\]+)\.test\.ts$/.exec(path) ?? [];
  return name?.split(".").slice(1);
}

/** The tier of a suite. Throws for a path that is not a suite, and for a suffix that no tier has. */
export function tierOf(path: string): Tier {
  const suffixes = suffixesOf(path);
  if (suffixes === undefined) throw new Error(`${path} is not a suite: its name does not end in .test.ts`);
  const unknown = suffixes.filter((suffix) => !TIER_SUFFIXES.has(suffix));
  if (unknown.length > 0) throw new Error(`${path}: no tier has the suffix '${unknown.join("', '")}'`);
  const tier = TIERS.findLast((one) => one.suffixes.some((suffix) => suffix !== "" && suffixes.includes(suffix)));
  return tier ?? (TIERS[0] as Tier);
}
