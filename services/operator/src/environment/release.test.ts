import { expect, test } from "@jest/globals";
import type { EnvironmentResource } from "@perdure/custom-resources";
import { ReleaseTurns, releaseOf } from "./release.js";

interface Case {
  readonly channel?: "stable" | "fast" | "pinned";
  readonly version?: string;
  readonly current?: string | undefined;
  readonly target?: string;
  /** Others that are on their way. */
  readonly underWay?: number;
}

const anEnvironment = (name: string, { channel = "stable", version = "1.4.0", current, target }: Case): EnvironmentResource =>
  ({
    metadata: { name },
    spec: { channel, version },
    status: { conditions: [], version: { current, target } },
  }) as unknown as EnvironmentResource;

const RELEASES = { stable: "1.5.0", fast: "1.6.0", atOnce: 2 };

test.each<[string, Case, string, boolean]>([
  ["one that is new begins with the release of its channel", {}, "1.5.0", false],
  ["a fast one with a newer one", { channel: "fast" }, "1.6.0", false],
  ["a pinned one with its own", { channel: "pinned" }, "1.4.0", false],
  ["one that requests more gets more", { version: "1.7.0" }, "1.7.0", false],
  ["one that runs goes there", { current: "1.4.0", target: "1.4.0" }, "1.5.0", false],
  ["unless enough are on their way", { current: "1.4.0", target: "1.4.0", underWay: 2 }, "1.4.0", true],
  ["who has begun continues", { current: "1.4.0", target: "1.5.0", underWay: 2 }, "1.5.0", false],
  ["who is there stays", { current: "1.5.0", target: "1.5.0", underWay: 2 }, "1.5.0", false],
  ["a minor version is not skipped for it", { channel: "fast", current: "1.4.0", target: "1.4.0" }, "1.4.0", false],
  [
    "who is beyond its own stays there while it waits",
    { channel: "fast", current: "1.5.0", target: "1.5.0", underWay: 9 },
    "1.5.0",
    true,
  ],
])("%s", (_, given, version, isWaiting) => {
  const others = Array.from({ length: given.underWay ?? 0 }, (__, n) =>
    anEnvironment(`env-${n}`, { current: "1.4.0", target: "1.5.0" }),
  );
  const one = anEnvironment("env-us", given);
  expect(releaseOf(one, RELEASES, () => [one, ...others], new ReleaseTurns())).toEqual({ version, isWaiting });
});

test("without releases of channels each environment has the version of its spec", () => {
  const one = anEnvironment("env-us", { current: "1.4.0" });
  const releases = { stable: undefined, fast: undefined, atOnce: 2 };
  expect(releaseOf(one, releases, () => [one], new ReleaseTurns())).toEqual({ version: "1.4.0", isWaiting: false });
});

// Found in review: a starting operator reconciles the whole cell before the first status is in its copy.
test("an upgrade turn counts before the status shows it, and no longer than the upgrade", () => {
  const turns = new ReleaseTurns();
  const at = (name: string, target: string, current = "1.4.0") => anEnvironment(name, { current, target });
  const [one, two, three] = [at("env-1", "1.4.0"), at("env-2", "1.4.0"), at("env-3", "1.4.0")];
  const decide = (environment: EnvironmentResource, ...copy: EnvironmentResource[]) =>
    releaseOf(environment, RELEASES, () => copy, turns);
  expect(decide(one, one, two, three).version).toBe("1.5.0");
  expect(decide(two, one, two, three).version).toBe("1.5.0");
  expect(decide(three, one, two, three)).toEqual({ version: "1.4.0", isWaiting: true });
  expect(decide(one, one, two, three).version).toBe("1.5.0"); // Its pass was broken off, and begins anew.
  expect(decide(three, at("env-1", "1.5.0"), two, three).isWaiting).toBe(true);
  expect(decide(three, at("env-1", "1.5.0", "1.5.0"), two, three).version).toBe("1.5.0");

  const pinned = anEnvironment("env-2", { channel: "pinned", current: "1.4.0", target: "1.4.0" });
  expect(decide(pinned, pinned).version).toBe("1.4.0");
  const four = at("env-4", "1.4.0");
  expect(decide(four, at("env-1", "1.5.0", "1.5.0"), pinned, three, four).version).toBe("1.5.0");
});
