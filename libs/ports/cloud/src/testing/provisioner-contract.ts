/** The contract of every Provisioner. The test file of each implementation calls it once. */
import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import { Secret } from "@perdure/base";
import type { DesiredRuntime, EnvironmentId, Provisioner, RuntimeState } from "../index.js";
import { exampleEnvironment } from "./tenancy.js";

/** Enough for the slowest machine; a test continues as soon as the state is reached. */
const TEST_MS = 60_000;

const KEY = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();

/** A desired runtime for a new environment, unless `changed` gives an id. */
export function aDesiredRuntime(changed: Partial<DesiredRuntime> = {}): DesiredRuntime {
  const { id, accountId, region, limits, ingressUrl } = exampleEnvironment();
  return {
    environmentId: id,
    accountId,
    region,
    generation: 1,
    mode: "running",
    signingKeyPem: new Secret(KEY),
    limits,
    ingressUrl,
    tunnels: undefined,
    ...changed,
  };
}

/** Resolves with the first state of the generation, or a later one, that has the phase. */
export function untilState<P extends RuntimeState["phase"]>(
  provisioner: Provisioner,
  { environmentId, generation }: DesiredRuntime,
  phase: P,
): Promise<RuntimeState & { readonly phase: P }> {
  const fits = (state: RuntimeState | undefined): state is RuntimeState & { readonly phase: P } =>
    state !== undefined && state.phase === phase && state.generation >= generation;
  return new Promise((resolve) => {
    provisioner.onChange((id, state) => {
      if (id === environmentId && fits(state)) resolve(state);
    });
    const state = provisioner.state(environmentId);
    if (fits(state)) resolve(state);
  });
}

/** `open` returns a provisioner without runtimes, whose runtimes become ready by themselves. */
export function describeProvisioner(name: string, open: () => Promise<Provisioner>): void {
  describe(`Provisioner: ${name}`, () => {
    test(
      "a desired runtime becomes ready, and the same or an older generation changes nothing",
      async () => {
        await using provisioner = await open();
        const desired = aDesiredRuntime({ generation: 2 });
        expect(provisioner.state(desired.environmentId)).toBeUndefined();
        await provisioner.apply(desired);
        const ready = await untilState(provisioner, desired, "ready");
        expect(ready.generation).toBe(2);
        const states: (RuntimeState | undefined)[] = [];
        provisioner.onChange((_id, state) => states.push(state));
        await provisioner.apply(desired);
        await provisioner.apply({ ...desired, generation: 1, mode: "suspended" });
        expect(provisioner.state(desired.environmentId)).toEqual(ready);
        expect(states).toEqual([]);
      },
      TEST_MS,
    );

    test(
      "after a newer generation, no state of older ones is reported",
      async () => {
        await using provisioner = await open();
        const desired = aDesiredRuntime();
        await provisioner.apply(desired);
        await untilState(provisioner, desired, "ready");
        const generations: number[] = [];
        provisioner.onChange((_id, state) => generations.push(state?.generation ?? 0));
        const newer = { ...desired, generation: 2, mode: "suspended" as const };
        await provisioner.apply(newer);
        expect(provisioner.state(desired.environmentId)?.generation).toBe(2);
        await untilState(provisioner, newer, "ready");
        expect(new Set(generations)).toEqual(new Set([2]));
      },
      TEST_MS,
    );

    test(
      "a removed runtime is gone, and can be requested again",
      async () => {
        await using provisioner = await open();
        const desired = aDesiredRuntime();
        await provisioner.apply(desired);
        await untilState(provisioner, desired, "ready");
        const gone: EnvironmentId[] = [];
        provisioner.onChange((id, state) => state === undefined && gone.push(id));
        await provisioner.remove(desired.environmentId, { erase: false });
        expect(provisioner.state(desired.environmentId)).toBeUndefined();
        await provisioner.apply(desired);
        await untilState(provisioner, desired, "ready");
        await provisioner.remove(desired.environmentId, { erase: true });
        expect(provisioner.state(desired.environmentId)).toBeUndefined();
        expect(gone).toEqual([desired.environmentId, desired.environmentId]);
      },
      TEST_MS,
    );

    test(
      "environments have nothing in common",
      async () => {
        await using provisioner = await open();
        const [one, two] = [aDesiredRuntime(), aDesiredRuntime()];
        await Promise.all([provisioner.apply(one), provisioner.apply(two)]);
        const [a, b] = await Promise.all([untilState(provisioner, one, "ready"), untilState(provisioner, two, "ready")]);
        const origins = [a.upstream, b.upstream].flatMap(({ ingress, admin }) => [ingress, admin]);
        expect(new Set(origins).size).toBe(4);
        await provisioner.remove(one.environmentId, { erase: true });
        expect(provisioner.state(two.environmentId)).toEqual(b);
      },
      TEST_MS,
    );

    test("removing a runtime that does not exist succeeds", async () => {
      await using provisioner = await open();
      await provisioner.remove(aDesiredRuntime().environmentId, { erase: true });
    });
  });
}
