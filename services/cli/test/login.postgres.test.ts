/**
 * Login (cloud.md §1.7): our command line as a process against a real tenancy, approved in a browser, and the official one, unmodified,
 * afterwards. §8: 10–13; T33, T34.
 */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { BrowserClient } from "@perdure/tenancy/testing";
import { Home, modeOf } from "./home.js";
import { FakeEndpoint, SmallCloud } from "./small-cloud.js";

const TEST_MS = 120_000;

const MINE = "# mine\n[other]\nadmin_base_url = 'http://x:1'   # odd\n";
const FOREIGN = `# of another program
[global.cloud]   # theirs
access_token = "a.b.c"

[prod]
environment_type = "cloud"
ingress_base_url = "https://x.env.us.restate.cloud:8080"
admin_base_url   = "https://x.env.us.restate.cloud:9070"
[prod.cloud]
environment_id = "env_x"
account_id = "acc_x"
`;

interface Stored {
  readonly logins: Record<string, { accessToken: string; refreshToken: string; expiresAtMs: number; email: string }>;
}

let cloud: SmallCloud;
let browser: BrowserClient;
let email: string;
/** Logged in, with a profile `dev`. */
let loggedInHome: Home;
/** Logged in, for the tests that change or end it. */
let renewing: Home;
let leaving: Home;
/** Logged in with the login of another provider present. */
let mixed: Home;
let saidToMixed: string;
let environment: { environmentId: string; accountId: string; adminUrl: string; ingressUrl: string };

beforeAll(async () => {
  cloud = await SmallCloud.start();
  ({ browser, email } = await cloud.person());
  const homes = await Promise.all([1, 2, 3, 4].map(() => Home.make({ PERDURE_API_URL: cloud.origin })));
  [loggedInHome, renewing, leaving, mixed] = homes as [Home, Home, Home, Home];
  leaving.write(".config/restate/config.toml", MINE);
  mixed.write(".config/restate/config.toml", FOREIGN);
  const logins = await cloud.logIn(browser, ...homes);
  saidToMixed = logins[3]?.output ?? "";
  await loggedInHome.json(["env", "create", "dev", "--use"]);
  environment = await loggedInHome.json(["env", "describe", "dev"]);
}, TEST_MS);
afterAll(async () => {
  for (const home of [loggedInHome, renewing, leaving, mixed]) home?.[Symbol.dispose]();
  await cloud?.[Symbol.asyncDispose]();
}, TEST_MS);

const stored = (home: Home): Stored => JSON.parse(readFileSync(home.credentials, "utf8")) as Stored;
const login = (home: Home) => stored(home).logins[cloud.origin];

describe("after a login", () => {
  test(
    "files are the user's alone, and the refresh token is in ours only (T33)",
    () => {
      expect([modeOf(loggedInHome.config), modeOf(loggedInHome.credentials)]).toEqual([0o600, 0o600]);
      const own = login(loggedInHome);
      expect(own).toMatchObject({ email });
      const official = readFileSync(loggedInHome.config, "utf8");
      expect(official).toContain(`[global.cloud]\napi_base_url = "${cloud.origin}"\naccess_token = "${own?.accessToken}"\n`);
      expect(official).not.toContain(own?.refreshToken);
    },
    TEST_MS,
  );

  test(
    "the official command line is logged in, lists, and switches environments",
    async () => {
      using home = loggedInHome.copy();
      const endpoint = await cloud.endpoint(environment.adminUrl);
      const who = await home.restate(["-e", "dev", "whoami"]);
      expect([who.exitCode, who.stdout + who.stderr]).toEqual([0, expect.stringMatching(/Logged in\?\s+true/)]);
      for (const id of [environment.accountId, environment.environmentId]) expect(who.stdout + who.stderr).toContain(id);
      const listed = await home.restate(["-e", "dev", "deployments", "list"]);
      expect([listed.exitCode, listed.exitCode === 0 ? "" : listed.stderr]).toEqual([0, ""]);
      const shown = endpoint.knocks.filter(({ path }) => path !== "/version").map(({ authorization }) => authorization);
      expect(new Set(shown)).toEqual(new Set([`Bearer ${login(home)?.accessToken}`]));
      await home.restate(["config", "use-env", "local"]);
      expect((await home.json(["env", "current"]))["name"]).toBe("local");
      await home.json(["env", "use", "dev"]);
      expect((await home.restate(["whoami"])).stdout).toContain(environment.environmentId);
    },
    TEST_MS,
  );

  test(
    "whoami and token use it",
    async () => {
      const who = await loggedInHome.json(["whoami"]);
      expect(who).toMatchObject({ isLoggedIn: true, email, environment: { name: "dev", kind: "cloud" } });
      expect((await loggedInHome.run(["token"])).stdout).toBe(`${login(loggedInHome)?.accessToken}\n`);
      expect((await loggedInHome.run(["token", "dev"])).stdout).toBe(`${login(loggedInHome)?.accessToken}\n`);
    },
    TEST_MS,
  );

  test(
    "it is renewed on request, and when it expires soon; many at once renew it once",
    async () => {
      const home = renewing;
      const first = login(home);
      expect((await home.json(["login", "--refresh"]))["event"]).toBe("renewed");
      const second = login(home);
      expect(second?.accessToken).not.toBe(first?.accessToken);
      expect(readFileSync(home.config, "utf8")).toContain(second?.accessToken);

      const soon = stored(home);
      (soon.logins[cloud.origin] as { expiresAtMs: number }).expiresAtMs = Date.now() + 60_000;
      home.write(".config/perdure/credentials.json", JSON.stringify(soon));
      const answers = await Promise.all([1, 2, 3, 4].map(() => home.run(["account", "list"])));
      expect(answers.map(({ exitCode, stderr }) => [exitCode, stderr])).toEqual(answers.map(() => [0, ""]));
      const third = login(home);
      expect(third?.refreshToken).not.toBe(second?.refreshToken);
      expect(readFileSync(home.config, "utf8")).toContain(third?.accessToken);
      // If two of them had used one refresh token, the whole login would have ended.
      expect((await home.run(["login", "--refresh"])).exitCode).toBe(0);
    },
    TEST_MS,
  );

  test(
    "logout takes the tokens from both files and from the cloud, and leaves the rest",
    async () => {
      const home = leaving;
      const before = login(home);
      const { loggedOut } = await home.json<{ loggedOut: unknown[] }>(["logout"]);
      expect(loggedOut).toEqual([{ apiUrl: cloud.origin, email, isRevoked: true }]);
      expect(stored(home).logins).toEqual({});
      const left = `${MINE}\n[global.cloud]\napi_base_url = "${cloud.origin}"\n`;
      expect(readFileSync(home.config, "utf8")).toBe(left);
      const again = await fetch(`${cloud.origin}/cloud/ListAccounts`, {
        method: "POST",
        headers: { authorization: `Bearer ${before?.accessToken}` },
      });
      expect(again.status).toBe(401);
      const refused = await home.run(["account", "list"]);
      expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining("perdure login")]);
    },
    TEST_MS,
  );
});

describe("what does not become a login", () => {
  test(
    "one that is denied, and one that is given up",
    async () => {
      using home = await Home.make({ PERDURE_API_URL: cloud.origin });
      const denied = home.start(["login", "--no-browser"]);
      await cloud.approve(browser, denied, "deny");
      const interrupted = home.start(["login", "--no-browser"]);
      await interrupted.until(/[B-Z]{4}-[B-Z]{4}/);
      interrupted.signal("SIGINT");
      expect((await interrupted.ended).exitCode).toBe(130);
      expect(await denied.ended).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("perdure login") });
      expect(home.has(".config")).toBe(false);
    },
    TEST_MS,
  );

  test(
    "a cloud that is not there",
    async () => {
      using home = await Home.make({ PERDURE_API_URL: "http://127.0.0.1:9" });
      const said = await home.run(["login", "--no-browser", "--json"]);
      expect(said.exitCode).toBe(1);
      expect(JSON.parse(said.stderr)).toMatchObject({ error: { message: expect.stringContaining("127.0.0.1:9"), exitCode: 1 } });
    },
    TEST_MS,
  );
});

describe("where another provider is logged in", () => {
  test(
    "its login stays byte for byte, both solutions are shown, and both work",
    async () => {
      const home = mixed;
      expect(saidToMixed).toContain("--restate-home");
      expect(saidToMixed).toContain("--with-key");
      expect(readFileSync(home.config, "utf8")).toBe(FOREIGN);
      const refused = await home.run(["env", "configure", "dev"]);
      expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining("--restate-home")]);
      expect(readFileSync(home.config, "utf8")).toBe(FOREIGN);

      await home.json(["env", "configure", "dev", "--with-key", "--name", "keyed"]);
      const written = readFileSync(home.config, "utf8");
      expect(written.startsWith(FOREIGN)).toBe(true);
      expect(written).toMatch(/\[keyed\][^[]*bearer_token = "key_[0-9A-Za-z]{23}\.[0-9A-Za-z]{44}"/);

      using apart = home.copy();
      const moved = await apart.run(["login", "--restate-home", "--refresh", "--json"]);
      expect([moved.exitCode, moved.stderr]).toEqual([0, ""]);
      expect(apart.read(".config/perdure-restate/config.toml")).toContain("[global.cloud]");
      await apart.json(["env", "configure", "dev"]);
      expect(apart.read(".config/perdure-restate/config.toml")).toContain("[dev.cloud]");
      expect(apart.read(".config/perdure-restate/environment")).toBe("dev");
      expect(apart.read(".config/restate/config.toml")).toBe(written);
    },
    TEST_MS,
  );
});

describe("credentials go where they were issued for (T34)", () => {
  test(
    "not to addresses from a .env of a cloned repository, whatever files and names it sets",
    async () => {
      await using trap = await FakeEndpoint.open("http://127.0.0.1:0");
      const url = `http://127.0.0.1:${trap.port}`;
      using home = loggedInHome.copy();
      mkdirSync(join(home.path, "cloned/home"), { recursive: true });
      home.write("cloned/home/config.toml", `[dev]\nenvironment_type = "cloud"\nadmin_base_url = "${url}"\n`);
      const traps = [
        `RESTATE_ADMIN_URL=${url}`,
        `PERDURE_ADMIN_URL=${url}\nPERDURE_INGRESS_URL=${url}`,
        "RESTATE_HOST=127.0.0.1\nRESTATE_HOST_SCHEME=http",
        `RESTATE_CLI_CONFIG_HOME=${join(home.path, "cloned/home")}\nRESTATE_CLI_CONFIG=${join(home.path, "cloned/home/config.toml")}`,
        `PERDURE_API_URL=${url}\nPERDURE_CONFIG_HOME=${join(home.path, "cloned/home")}\nHOME=${join(home.path, "cloned")}`,
      ];
      for (const text of traps) {
        home.write("cloned/.env", text);
        const shells = [{}, { PERDURE_API_KEY: "key_of_the_shell" }];
        await Promise.all(shells.map((env) => home.run(["deployments", "list"], { folder: "cloned", env })));
        await home.run(["account", "list"], { folder: "cloned" });
      }
      expect(trap.knocks.length).toBeGreaterThan(0);
      expect(trap.knocks.filter(({ authorization }) => authorization !== undefined)).toEqual([]);
      home.write("cloned/.env", `RESTATE_ADMIN_URL=${url}`);
      const result = await home.run(["deployments", "list"], { folder: "cloned" });
      expect(result.stderr).toContain("RESTATE_ADMIN_URL of .env");
    },
    TEST_MS,
  );

  test(
    "a key of the shell is sent to an address of the shell, and one of a .env to its own address",
    async () => {
      await using endpoint = await FakeEndpoint.open("http://127.0.0.1:0");
      const url = `http://127.0.0.1:${endpoint.port}`;
      using home = await Home.make({});
      const answers = [
        await home.run(["deployments", "list"], { env: { PERDURE_API_KEY: "key_1", PERDURE_ADMIN_URL: url } }),
        await home.run(["deployments", "list"], { env: { RESTATE_AUTH_TOKEN: "key_2", RESTATE_ADMIN_URL: url } }),
      ];
      home.write(".env", `RESTATE_ADMIN_URL=${url}\nRESTATE_AUTH_TOKEN=key_3\n`);
      answers.push(await home.run(["deployments", "list"]));
      expect(answers.map(({ exitCode, stderr }) => (exitCode === 0 ? "" : stderr))).toEqual(["", "", ""]);
      expect([...new Set(endpoint.knocks.map(({ authorization }) => authorization))]).toEqual([
        "Bearer key_1",
        "Bearer key_2",
        "Bearer key_3",
      ]);
    },
    TEST_MS,
  );
});

test(
  "a machine logs in with a key: it is checked, and kept in a profile that the official command line can use",
  async () => {
    const { apiKey } = await loggedInHome.json<{ apiKey: string }>(["keys", "create"]);
    await using endpoint = await FakeEndpoint.open("http://127.0.0.1:0");
    const url = `http://127.0.0.1:${endpoint.port}`;
    using home = await Home.make({});
    const env = { PERDURE_API_KEY: apiKey, PERDURE_ADMIN_URL: url, PERDURE_INGRESS_URL: url };
    expect(await home.json(["login", "--name", "ci"], { env })).toMatchObject({ profile: "ci", adminUrl: url });
    expect(modeOf(home.config)).toBe(0o600);
    const listed = await home.restate(["deployments", "list"]);
    expect([listed.exitCode, listed.exitCode === 0 ? "" : listed.stderr]).toEqual([0, ""]);
    expect(new Set(endpoint.knocks.filter(({ path }) => path !== "/version").map(({ authorization }) => authorization))).toEqual(
      new Set([`Bearer ${apiKey}`]),
    );
    const wrong = await home.run(["login"], { env: { ...env, PERDURE_API_KEY: `${apiKey.slice(0, -1)}-` } });
    expect([wrong.exitCode, wrong.stderr]).toEqual([2, expect.not.stringContaining(apiKey.slice(28))]);
  },
  TEST_MS,
);

test(
  "several logins at the same moment on one machine leave both files whole",
  async () => {
    using home = await Home.make({ PERDURE_API_URL: cloud.origin });
    home.write(".config/restate/config.toml", "[mine]\nadmin_base_url = 'http://x:1' # mine\n");
    await cloud.logIn(browser, home, home, home);
    const own = login(home);
    expect(own?.email).toBe(email);
    expect(readFileSync(home.config, "utf8")).toMatch(/^\[mine\]\nadmin_base_url = 'http:\/\/x:1' # mine\n\n\[global\.cloud\]\n/);
    expect((await home.run(["account", "list"])).exitCode).toBe(0);
    expect(home.has(".config/perdure/credentials.json.lock")).toBe(false);
  },
  TEST_MS,
);
