import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "@jest/globals";
import { systemClock } from "@perdure/base";
import { fetchWithTimeout } from "./fetch-with-timeout.js";

describe("a fetch with a timeout", () => {
  test("rejects without an answer, follows the caller's abort, and allows a slow body", async () => {
    let goOn = (): void => undefined;
    const server = createServer((request, response) => {
      if (request.url === "/silent") return;
      response.write("a");
      goOn = () => response.end("b");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      await expect(fetchWithTimeout(fetch, systemClock, 30)(`${base}/silent`)).rejects.toThrow("no answer within 0.03 s");
      const given = fetchWithTimeout(
        fetch,
        systemClock,
        60_000,
      )(`${base}/silent`, { signal: AbortSignal.abort(new Error("enough")) });
      await expect(given).rejects.toThrow("enough");
      let fire = (): void => undefined;
      const clock = {
        ...systemClock,
        setTimer: (_: number, onTimeout: () => void) => {
          fire = onTimeout;
          return { cancel: () => (fire = () => undefined) };
        },
      };
      const response = await fetchWithTimeout(fetch, clock, 1)(`${base}/slow`);
      fire(); // The timeout ended with the first byte.
      goOn();
      expect(await response.text()).toBe("ab");
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});
