import { describe, expect, test } from "@jest/globals";
import { isBeyondLoopback, listenOn } from "./listener.js";

const at = (bindAddress?: string) => ({ bindAddress, bindPort: 1 });

describe("an address to listen on", () => {
  test("is every address of the machine when there is none, or a star", () => {
    expect([listenOn(at()), listenOn(at("*"))]).toEqual([{ port: 1 }, { port: 1 }]);
    expect(listenOn(at("::1"))).toEqual({ host: "::1", port: 1 });
  });

  test.each(["127.0.0.1", "127.8.9.1", "::1", "localhost"])("%s is this machine's alone", (address) => {
    expect(isBeyondLoopback(at(address))).toBe(false);
  });

  test.each([undefined, "*", "0.0.0.0", "::", "10.1.2.3", "127.example.org", "db.localhost.example"])(
    "%s may be reached by others",
    (address) => {
      expect(isBeyondLoopback(at(address))).toBe(true);
    },
  );
});
