import { describe, expect, test } from "@jest/globals";
import { parseLocalPort, parseRemotePort } from "./flags.js";

describe("ports of tunnels", () => {
  test("local ones name this machine, another host, another port", () => {
    expect(parseLocalPort("9080")).toEqual({ tunnelPort: 9080, host: "127.0.0.1", port: 9080 });
    expect(parseLocalPort("9080:svc.lan")).toEqual({ tunnelPort: 9080, host: "svc.lan", port: 9080 });
    expect(parseLocalPort("9080:svc.lan:8081")).toEqual({ tunnelPort: 9080, host: "svc.lan", port: 8081 });
    expect(parseLocalPort("9080:[::1]:8081")).toEqual({ tunnelPort: 9080, host: "::1", port: 8081 });
    for (const text of ["", "0", "65536", "a", "9080:", "9080:h:0", "9080:h:1:2", "9080:a/b", "-1"]) {
      expect(() => parseLocalPort(text)).toThrow("PORT:HOST");
    }
  });

  test("remote ones are those an environment has", () => {
    expect(parseRemotePort("8080")).toEqual({ remote: 8080, local: 8080 });
    expect(parseRemotePort("9070:19070")).toEqual({ remote: 9070, local: 19_070 });
    for (const text of ["80", "8080:", "8080:0", "8080:x", "9080"]) expect(() => parseRemotePort(text)).toThrow();
  });
});
