/** Two processes of the program on one database: killed and restarted, called over mutual TLS and by the official command line. */

import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Secret, silentLogger, systemClock } from "@perdure/base";
import { bareOf, NO_USAGE, type TenancyChange } from "@perdure/cloud";
import { CloudClient } from "@perdure/cloud-client";
import { writeTinyConsole } from "@perdure/console-host/testing";
import { ServiceProgram } from "@perdure/dev-cluster";
import { openChannel, RemoteTenancy } from "@perdure/grpc";
import { freePorts, type PostgresServer, startPostgres } from "@perdure/servers";
import { makeCertificates } from "@perdure/testkit";
import { BrowserClient, openTestTenancy, startSmtp, TEST_ISSUER, TEST_KEYS, type TestTenancy } from "../src/testing/index.js";

const run = promisify(execFile);
const directory = mkdtempSync(join(tmpdir(), "perdure-tenancy-"));
const file = (name: string, text: string): string => {
  writeFileSync(join(directory, name), text);
  return join(directory, name);
};

let server: PostgresServer;
/** Shares database and keys with the processes: stands for login, which issues tokens. */
let login: TestTenancy;
let programs: readonly ServiceProgram[];
let apiUrls: readonly string[];
let remote: RemoteTenancy;
const opened: (() => PromiseLike<void> | void)[] = [];

beforeAll(async () => {
  server = await startPostgres();
  opened.push(() => server[Symbol.asyncDispose]());
  const { trusted } = await makeCertificates();
  const keyFile = file("keys", TEST_KEYS);
  const tls = {
    "tls.authority-file": file("ca.pem", trusted.authority),
    "tls.certificate-file": file("own.pem", trusted.certificate),
    "tls.private-key-file": file("own.key", trusted.privateKey),
  };
  const ports = (await freePorts(4)) as [number, number, number, number];
  const settings = (n: number) => ({
    ...tls,
    "metadata.postgres-url": server.url,
    "secrets.key-file": keyFile,
    "cloud.domain": "perdure.test",
    "cloud.regions": "us,eu",
    "cloud.ports-host": "127.0.0.1",
    "api.public-url": TEST_ISSUER,
    "api.bind-port": ports[n] as number,
    "grpc.bind-port": ports[n + 2] as number,
    "probes.bind-port": 0,
  });
  programs = await Promise.all([0, 1].map((n) => ServiceProgram.launch({ service: "tenancy", settings: settings(n) })));
  for (const program of programs) opened.push(() => program[Symbol.asyncDispose]());
  await Promise.all(programs.map((program) => program.ready()));
  login = await openTestTenancy(server.url);
  opened.push(() => login[Symbol.asyncDispose]());
  apiUrls = [`http://127.0.0.1:${ports[0]}`, `http://127.0.0.1:${ports[1]}`];
  const channels = [ports[2], ports[3]].map((port) => openChannel(`localhost:${port}`, trusted));
  opened.push(() => {
    for (const channel of channels) channel.close();
  });
  remote = new RemoteTenancy({ channels, clock: systemClock, logger: silentLogger });
}, 180_000);
afterAll(async () => {
  for (const close of opened.toReversed()) await close();
  rmSync(directory, { recursive: true, force: true });
});

async function someone() {
  const user = await login.user();
  const clients = apiUrls.map((baseUrl) => new CloudClient({ baseUrl, accessToken: () => new Secret(user.token) }));
  return { user, clients: clients as [CloudClient, CloudClient] };
}

describe("two processes of tenancy", () => {
  test("act as one: a change at one is effective at the other, and is reported within a second", async () => {
    const { clients } = await someone();
    const { accountId } = await clients[0].user("CreateAccount", { name: "Acme" });
    const stop = new AbortController();
    const changes: TenancyChange[] = [];
    let wake: () => void = () => undefined;
    remote.watch(
      (change) => {
        changes.push(change);
        wake();
      },
      { signal: stop.signal },
    );
    const untilChange = async (check: (change: TenancyChange) => boolean) => {
      while (!changes.some(check))
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    };
    await untilChange(({ kind }) => kind === "everything");
    const { environmentId } = await clients[1].account(accountId, "CreateEnvironment", { name: "dev", region: "eu" });
    await untilChange((change) => change.kind === "environment" && change.id === environmentId);
    const facts = await remote.environment(bareOf(environmentId));
    expect(facts).toMatchObject({ id: environmentId, accountId, region: "eu", status: "PENDING", upstream: undefined });
    expect(facts?.ingressUrl).toMatch(/^http:\/\/127\.0\.0\.1:3\d{4}$/);
    const roleId = "rst:role::IngressAccess";
    const { apiKey, keyId } = await clients[0].account(accountId, "CreateApiKey", { environmentId, roleId });
    expect(await remote.authenticate(apiKey, environmentId)).toMatchObject({
      kind: "caller",
      caller: { id: keyId, role: roleId },
    });
    await clients[1].account(accountId, "DeleteApiKey", { environmentId, keyId });
    await untilChange((change) => change.kind === "key" && change.id === keyId);
    expect(await remote.authenticate(apiKey, environmentId)).toEqual({ kind: "unknown" });
    stop.abort();
  }, 60_000);

  test("a user who signs up at one is signed in at the other, until sign-out", async () => {
    const [one, two] = [new BrowserClient(apiUrls[0] as string), new BrowserClient(apiUrls[1] as string)];
    const fields = { email: "both@perdure.test", password: "a long enough password" };
    expect((await one.submit("/sign-up", "/sign-up", fields)).status).toBe(303);
    for (const [name, value] of one.cookies) two.cookies.set(name, value);
    expect((await two.get("/profile")).text).toContain("both@perdure.test");
    expect((await two.submit("/profile", "/sign-out", {})).location).toBe("/login");
    expect((await one.get("/profile")).status).toBe(303);
    expect((await one.get("/.auth-config")).status).toBe(404);
  }, 60_000);

  test("survive each other: killed in the middle, no answer is lost and no usage is counted twice", async () => {
    const { clients } = await someone();
    const { accountId } = await clients[0].user("CreateAccount", {});
    const { environmentId } = await clients[0].account(accountId, "CreateEnvironment", { name: "dev", region: "us" });
    const report = (bytesIn: number) =>
      remote.report([{ source: "gateway", environmentId, atMs: Date.now(), totals: { ...NO_USAGE, bytesIn } }]);
    let failures = 0;
    const reporting = (async () => {
      for (let n = 1; n <= 60; n++) await report(n).catch(() => failures++); // The next total contains this one.
    })();
    const keys = Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        clients[n % 2 === 0 ? 0 : 1].account(accountId, "UpdateEnvironment", { environmentId, description: `${n}` }).then(
          () => 1,
          () => 0,
        ),
      ),
    );
    await programs[0]?.kill();
    await reporting;
    await report(61);
    const done = (await keys).reduce<number>((sum, one) => sum + one, 0);
    expect(done).toBeGreaterThanOrEqual(10);
    await programs[0]?.startAgain();
    await programs[0]?.ready();
    const usage = await clients[0].account(accountId, "GetUsage", {});
    expect(usage.totals.bytesIn).toBe(61);
    expect(failures).toBeLessThan(60);
    const { events } = await clients[0].account(accountId, "ListAuditEvents", { action: "environment.update" });
    expect(events.length).toBeGreaterThanOrEqual(done);
  }, 60_000);

  test("the official command line gets its profile from tenancy", async () => {
    const { user, clients } = await someone();
    const { accountId } = await clients[0].user("CreateAccount", { name: "acme" });
    const { environmentId } = await clients[0].account(accountId, "CreateEnvironment", { name: "dev", region: "us" });
    const described = await clients[0].account(accountId, "DescribeEnvironment", { environmentId });
    const home = join(directory, "cli");
    mkdirSync(home);
    const config = join(home, "config.toml");
    writeFileSync(config, `[global.cloud]\napi_base_url = "${apiUrls[1]}"\naccess_token = "${user.token}"\n`);
    const environment = { PATH: process.env["PATH"], HOME: home, RESTATE_CLI_CONFIG_HOME: home, DO_NOT_TRACK: "1" };
    // It prompts for the profile's name even when all flags are set; Enter accepts its proposal.
    const script = `
import os, pty, select, sys
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
shown, entered = b"", False
while True:
    ready, _, _ = select.select([fd], [], [], 20)
    if not ready: sys.exit("silent: " + shown.decode(errors="replace"))
    try: piece = os.read(fd, 4096)
    except OSError: break
    if not piece: break
    shown += piece
    if b"\\x1b[6n" in piece: os.write(fd, b"\\x1b[1;1R")
    if not entered and b"(dev)" in shown:
        entered = True
        os.write(fd, b"\\r")
sys.stdout.write(shown.decode(errors="replace"))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`;
    const cli = commandLine();
    const configure = ["-c", script, cli, "cloud", "env", "configure", `${accountId}/dev`];
    const { stdout } = await run("python3", configure, { env: environment, timeout: 60_000 });
    const written = readFileSync(config, "utf8");
    expect([stdout, written]).toEqual([expect.anything(), expect.stringContaining("[dev.cloud]")]);
    expect(written).toContain(`account_id = "${accountId}"`);
    expect(written).toContain(`environment_id = "${environmentId}"`);
    expect(written).toContain(`ingress_base_url = "${described.ingressBaseUrl}"`);
    expect(written).toContain(`admin_base_url = "${described.adminBaseUrl}"`);
    await run(cli, ["config", "use-env", "dev"], { env: environment, timeout: 60_000 });
    expect(readFileSync(join(home, "environment"), "utf8").trim()).toBe("dev");
  }, 90_000);

  test("with a mail server, a user who signs up confirms the entered address", async () => {
    const smtp = await startSmtp();
    // A database of its own: any process on a database sends its mail, and the others have no server for it.
    await login.ports.database.tables.session.write("CREATE DATABASE mailed");
    const database = new URL(server.url);
    database.pathname = "/mailed";
    const [port] = (await freePorts(1)) as [number];
    const settings = {
      "metadata.postgres-url": database.href,
      "secrets.key-file": file("keys", TEST_KEYS),
      "api.public-url": `http://127.0.0.1:${port}`,
      "api.bind-port": port,
      "grpc.bind-port": 0,
      "probes.bind-port": 0,
      "mail.smtp-host": "127.0.0.1",
      "mail.smtp-port": smtp.port,
      "mail.smtp-tls": "none",
      "mail.smtp-user": "us",
      "mail.smtp-password-file": file("smtp-password", "hidden\n"),
    };
    const program = await ServiceProgram.launch({ service: "tenancy", settings });
    opened.push(() => program[Symbol.asyncDispose]()); // Also when this test fails before its end.
    await program.ready();
    const browser = new BrowserClient(`http://127.0.0.1:${port}`);
    const password = "correct horse battery";
    const fields = { email: "grace@perdure.test", password };
    expect((await browser.submit("/sign-up", "/sign-up", fields)).text).toContain("Check your mail");
    await smtp.waitFor(/^\.$/m); // The end of a mail.
    const mail = smtp.receivedLines.join("\n").replaceAll("=\n", "").replaceAll("=3D", "=");
    const token = new RegExp(`^http://127\\.0\\.0\\.1:${port}/verify\\?token=(\\w{43})$`, "m").exec(mail)?.[1] ?? "";
    expect((await browser.submit(`/verify?token=${token}`, "/verify", { token, password })).location).toBe("/");
    await smtp.close();
  }, 60_000);

  test("serve the console that is configured, and report when it does not exist", async () => {
    await using tiny = await writeTinyConsole();
    const [port] = (await freePorts(1)) as [number];
    const settings = {
      "metadata.postgres-url": server.url,
      "secrets.key-file": file("keys", TEST_KEYS),
      "api.public-url": TEST_ISSUER,
      "console-url": `http://127.0.0.1:${port}/`,
      "console.directory": tiny.directory,
      "console.gateway-host": "gateways.{region}.internal",
      "api.bind-port": port,
      "grpc.bind-port": 0,
      "probes.bind-port": 0,
    };
    const wrong = { ...settings, "api.bind-port": 0, "console.directory": directory };
    const unread = { ...settings, "api.bind-port": 0, "console.gateway-authority-file": join(directory, "nowhere") };
    for (const [bad, named] of [
      [wrong, "console.directory"],
      [unread, "console.gateway-authority-file"],
    ] as const) {
      await using program = await ServiceProgram.launch({ service: "tenancy", settings: bad });
      await expect(program.ready()).rejects.toThrow();
      expect(program.lines.join("\n")).toMatch(new RegExp(`OPS0001.*${named.replaceAll(".", "\\.")}`, "s"));
    }
    await using program = await ServiceProgram.launch({ service: "tenancy", settings });
    await program.ready();
    const page = await fetch(`http://127.0.0.1:${port}/accounts`, { headers: { accept: "text/html" } });
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('"kind":"cloud"')]);
    const { headers } = await new BrowserClient(`http://127.0.0.1:${port}`).get("/login");
    expect(headers.getSetCookie()).toEqual([
      expect.stringMatching(/^perdure_form=\w+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=\d+$/),
    ]);
  }, 90_000);

  test("a listener with a certificate serves TLS, to the official command line as well", async () => {
    const { user } = await someone();
    const { trusted } = await makeCertificates();
    const [port] = (await freePorts(1)) as [number];
    const settings = {
      "metadata.postgres-url": server.url,
      "secrets.key-file": file("keys", TEST_KEYS),
      "api.public-url": TEST_ISSUER,
      "api.bind-port": port,
      "grpc.bind-port": 0,
      "probes.bind-port": 0,
      "public-tls.certificate-file": file("door.pem", trusted.certificate),
      "public-tls.private-key-file": file("door.key", trusted.privateKey),
    };
    const program = await ServiceProgram.launch({ service: "tenancy", settings });
    opened.push(() => program[Symbol.asyncDispose]()); // Also when this test fails before its end.
    await program.ready();
    const ca = file("door-ca.pem", trusted.authority);
    const home = file("tls-home", "").replace(/tls-home$/, "tls-config");
    mkdirSync(home, { recursive: true });
    writeFileSync(
      join(home, "config.toml"),
      `[global.cloud]\napi_base_url = "https://localhost:${port}"\naccess_token = "${user.token}"\n`,
    );
    const environment = {
      PATH: process.env["PATH"],
      HOME: home,
      RESTATE_CLI_CONFIG_HOME: home,
      DO_NOT_TRACK: "1",
      SSL_CERT_FILE: ca,
    };
    const { stdout, stderr } = await run(commandLine(), ["cloud", "env", "configure"], { env: environment, timeout: 60_000 });
    expect(stdout + stderr).toMatch(/account/i); // An error about accounts proves that the request was answered over TLS.
    await expect(fetch(`http://localhost:${port}/cloud/ListAccounts`, { method: "POST" })).rejects.toThrow();
  }, 60_000);

  test("stop on request", async () => {
    expect(await programs[1]?.stop()).toMatchObject({ code: 0 });
    expect((await remote.environments()).length).toBeGreaterThan(0); // The other process answers.
  }, 60_000);
});

/** The binary of the package for this machine. */
function commandLine(): string {
  const require = createRequire(createRequire(import.meta.url).resolve("@restatedev/restate/package.json"));
  const system = process.platform === "darwin" ? "darwin" : "linux";
  return join(require.resolve(`@restatedev/restate-${system}-${process.arch}/package.json`), "../bin/restate");
}
