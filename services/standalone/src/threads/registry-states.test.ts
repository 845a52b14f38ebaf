import { expect, test } from "@jest/globals";
import { RegistryStates } from "./registry-states.js";

function registryOf() {
  let change: () => void = () => undefined;
  const onChange = (listener: () => void) => {
    change = listener;
    return () => undefined;
  };
  return { registry: { onChange }, change: () => change() };
}

async function isResolved(promise: Promise<void>): Promise<boolean> {
  let resolved = false;
  promise.then(() => {
    resolved = true;
  });
  await new Promise(setImmediate);
  return resolved;
}

test("a change is reached when every thread has reported the state that shows it", async () => {
  const { registry, change } = registryOf();
  const states = new RegistryStates(registry, 2);
  states.report(1, 1n);
  states.report(2, 1n);
  expect(await isResolved(states.reached())).toBe(true);
  change();
  const first = states.reached();
  states.report(1, 2n);
  expect(await isResolved(first)).toBe(false);
  change();
  const second = states.reached();
  states.report(2, 2n);
  expect(await isResolved(first)).toBe(true);
  expect(await isResolved(second)).toBe(false);
  // A thread that was slow gets the newest state alone.
  states.report(2, 3n);
  states.report(1, 3n);
  expect(await isResolved(second)).toBe(true);
});
