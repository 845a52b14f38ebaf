/** Which environment a command uses, and which address receives which credential (cloud.md §1.1, T34), case by case. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { systemClock } from "@perdure/base";
import { LoginSession } from "./cloud/session.js";
import { CredentialsStore, OfficialConfig, officialPaths, ownFolder } from "./config/index.js";
import { selectEnvironment } from "./environment.js";
import { Variables } from "./variables.js";

const API = "https://api.us.perdure.dev";
const BARE = "201k0yd4rz8yftmd4awh1bajg4v";
const HOST = `https://${BARE}.env.us.perdure.dev`;
const CONFIG = `
[dev]
environment_type = "cloud"
ingress_base_url = "${HOST}:8080/"
admin_base_url = "${HOST}:9070"
[dev.cloud]
account_id = "acc_1"
environment_id = "env_${BARE}"
[keyed]
environment_type = "cloud"
ingress_base_url = "https://keyed.example:8080"
admin_base_url = "https://keyed.example:9070"
bearer_token = "key_of_profile"
[plain]
admin_base_url = "10.0.0.1:9070"
ingress_base_url = "http://10.0.0.1:8080"
`;

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "perdure-environment-"));
  const login = { accessToken: "token", refreshToken: "r", expiresAtMs: Date.now() + 3_600_000, userId: "u", email: "e" };
  const logins = { [API]: { ...login, origins: ["http://127.0.0.1:30001"] } };
  mkdirSync(join(home, ".config/restate"), { recursive: true });
  mkdirSync(join(home, ".config/perdure"), { recursive: true });
  writeFileSync(join(home, ".config/restate/config.toml"), CONFIG);
  writeFileSync(join(home, ".config/perdure/credentials.json"), JSON.stringify({ version: 1, current: API, logins }));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function select(requestedName: string | undefined, shell: Record<string, string> = {}, file: Record<string, string> = {}) {
  const variables = new Variables({ HOME: home, ...shell }, file);
  const store = new CredentialsStore(ownFolder(variables), systemClock);
  const official = new OfficialConfig(officialPaths(variables, undefined), systemClock);
  const never: typeof fetch = () => Promise.reject(new Error("no prompt appears"));
  const session = new LoginSession({
    store,
    official: () => official,
    variables,
    clock: systemClock,
    userAgent: "t",
    fetch: never,
  });
  const warnings: string[] = [];
  const environment = selectEnvironment(requestedName, {
    variables,
    official,
    session,
    store,
    warn: (line) => warnings.push(line),
  });
  const shown = async (url = environment.adminUrl) => (await environment.credential(url))?.reveal();
  return { environment, shown, warnings };
}

describe("which environment", () => {
  test("the flag wins over variables, the shell over .env, those over the file, and local is left", () => {
    writeFileSync(join(home, ".config/restate/environment"), " keyed\n");
    expect(select("dev", { PERDURE_ENVIRONMENT: "plain" }).environment.name).toBe("dev");
    expect(select(undefined, { RESTATE_ENVIRONMENT: "plain" }, { PERDURE_ENVIRONMENT: "dev" }).environment.name).toBe("plain");
    expect(select(undefined, {}, { RESTATE_ENVIRONMENT: "dev" }).environment.name).toBe("dev");
    expect(select(undefined).environment.name).toBe("keyed");
    rmSync(join(home, ".config/restate/environment"));
    expect(select(undefined).environment).toMatchObject({
      name: "local",
      kind: "local",
      adminUrl: "http://localhost:9070",
      ingressUrl: "http://localhost:8080",
    });
    expect(() => select("nobody")).toThrow("There is no environment 'nobody' here (--env)");
  });

  test("addresses come from variables before profiles, as in the official command line", () => {
    expect(select("dev").environment).toMatchObject({ kind: "cloud", adminUrl: `${HOST}:9070`, ingressUrl: `${HOST}:8080` });
    expect(select("plain").environment).toMatchObject({ kind: "other", adminUrl: "http://10.0.0.1:9070" });
    expect(select("local", { RESTATE_HOST: "box", RESTATE_HOST_SCHEME: "https" }).environment).toMatchObject({
      adminUrl: "https://box:9070",
      ingressUrl: "https://box:8080",
    });
    expect(select("local", { RESTATE_HOST: "box", RESTATE_ADMIN_URL: "http://x:1/pfx/" }).environment.adminUrl).toBe(
      "http://x:1/pfx",
    );
    expect(() => select("local", { RESTATE_ADMIN_URL: "ftp://x" })).toThrow("not a URL");
  });
});

describe("what is shown where", () => {
  test("the login goes to addresses that its cloud gave out, and to environments under its domain", async () => {
    expect(await select("dev").shown()).toBe("token");
    expect(await select("dev").shown(`${HOST}:8080/Greeter/greet`)).toBe("token");
    expect(await select("dev", { PERDURE_ADMIN_URL: "http://127.0.0.1:30001" }).shown()).toBe("token");
  });

  test.each([
    "http://127.0.0.1:30002",
    `http://${BARE}.env.us.perdure.dev:9070`,
    `https://${BARE}.env.us.perdure.dev:443`,
    `https://${BARE}.env.us.perdure.dev.evil.example:9070`,
    `https://evil.example:9070/${BARE}.env.us.perdure.dev`,
    `https://${BARE}.env.us.perdure.dev@evil.example:9070`,
    "https://evil.env.us.perdure.dev:9070",
    "https://us.perdure.dev:9070",
  ])("it is not sent to %s, whatever the source of the address", async (url) => {
    for (const [shell, file] of [
      [{ RESTATE_ADMIN_URL: url }, {}],
      [{}, { RESTATE_ADMIN_URL: url }],
    ] as const) {
      const { shown, warnings } = select("dev", shell, file);
      expect([await shown(), await shown(), warnings.length]).toEqual([undefined, undefined, 1]);
    }
  });

  test("a key in a profile goes to the addresses of that profile", async () => {
    expect(await select("keyed").shown()).toBe("key_of_profile");
    expect(await select("keyed", { PERDURE_ADMIN_URL: "https://evil.example:9070" }).shown()).toBeUndefined();
    expect(await select("keyed", { PERDURE_ADMIN_URL: `${HOST}:9070` }).shown()).toBeUndefined();
  });

  test("a key of the shell is sent to addresses of the shell, a profile or the cloud, not to those of .env", async () => {
    const key = { PERDURE_API_KEY: "key_of_shell" };
    expect(await select("dev", key).shown()).toBe("key_of_shell");
    expect(await select("local", key).shown()).toBe("key_of_shell");
    expect(await select("local", { ...key, RESTATE_ADMIN_URL: "https://mine.example" }).shown()).toBe("key_of_shell");
    expect(await select("dev", key, { RESTATE_ADMIN_URL: "https://evil.example" }).shown()).toBeUndefined();
    expect(await select("dev", key, { RESTATE_HOST: "evil.example" }).shown()).toBeUndefined();
    expect(await select("dev", key, { RESTATE_ADMIN_URL: `${HOST}:9070` }).shown()).toBe("key_of_shell");
    expect(await select("dev", key).shown("https://elsewhere.example")).toBeUndefined();
  });

  test("no credential is sent to a server without authentication", async () => {
    const { shown, warnings } = select("local");
    expect([await shown(), warnings]).toEqual([undefined, []]);
  });
});
