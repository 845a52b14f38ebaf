import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "@jest/globals";
import { invariant } from "@perdure/base";
import { eventually } from "./eventually.js";

test("a check that fails or has no result yet is repeated, and its last result is returned", async () => {
  const outcomes = [undefined, false, new Error("not yet"), "there"];
  const check = (): string | undefined | false => {
    const next = outcomes.shift();
    if (next instanceof Error) throw next;
    return next as string | undefined | false;
  };
  expect(await eventually("it is there", check)).toBe("there");
});

test("when time is up the last failure is the cause", async () => {
  const failing = eventually("it works", () => Promise.reject(new Error("still broken")), 1);
  await expect(failing).rejects.toMatchObject({
    message: expect.stringContaining("it works: still broken"),
    cause: { message: "still broken" },
  });
});

test.each<[string, () => never]>([
  [
    "a mistake in the check",
    () => {
      throw new TypeError("undefined is not a function");
    },
  ],
  [
    "a broken invariant",
    () => {
      invariant(false, "two leaders of one partition");
      throw new Error("an invariant that does not hold throws");
    },
  ],
])("%s rejects at the first try", async (_, check) => {
  let tries = 0;
  const counted = (): never => {
    tries++;
    return check();
  };
  await expect(eventually("it works", counted)).rejects.toThrow(/undefined is not a function|two leaders/);
  expect(tries).toBe(1);
});

test("a refused connection is not treated as a defect", async () => {
  const server = createServer((_, response) => response.end("there"));
  const { port } = await new Promise<AddressInfo>((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve(server.address() as AddressInfo));
  });
  await new Promise((resolve) => server.close(resolve));
  let tries = 0;
  const result = await eventually("the server answers", async () => {
    if (++tries === 3) await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
    return (await fetch(`http://127.0.0.1:${port}/`)).text();
  });
  expect(result).toBe("there");
  expect(tries).toBe(3);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});
