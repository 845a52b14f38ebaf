/** The platform under measurement: `make cloud` without its demo, in a directory and on ports of its own, with plain requests. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ChildProgram } from "@perdure/processes/child-program";
import pg from "pg";
import { bundle } from "../../../../deploy/bundle.mjs";
import { root, until } from "./harness/processes.ts";

const PASSWORD = "correct horse battery staple";
const CLIENT = "perdure-cli";
/** Time for stopping the programs, which happens in order, each within 15 s. */
const STOP_MS_MAX = 60_000;

/**
 * `firstPort`: the first of 400 ports for the platform. `runtimeConfig`: settings of all runtimes, in TOML. A given directory is reused
 * and kept.
 */
export async function startCloud(firstPort, { runtimeConfig = "", directory: given } = {}) {
  const directory = given ?? mkdtempSync(join(tmpdir(), "bench-cloud-"));
  const configFile = join(directory, "runtimes.toml");
  writeFileSync(configFile, runtimeConfig);
  const apiUrl = `http://localhost:${firstPort}`;
  const program = await ChildProgram.start({
    name: "the cloud",
    command: process.execPath,
    args: [join(root, "deploy/cloud/dist/main.mjs"), "run", "--bare"],
    group: "shared", // The black-box suite kills all of it with its process group.
    env: {
      ...process.env,
      PERDURE_CLOUD_DIR: directory,
      PERDURE_CLOUD_RUNTIME_CONFIG: configFile,
      PERDURE_API__BIND_PORT: String(firstPort),
      GREETER_PORT: String(firstPort + 1),
      PERDURE_CLOUD_PORTS: String(firstPort + 2),
    },
  });
  const database = new pg.Client({ connectionString: `postgres://perdure@127.0.0.1:${firstPort + 2}/postgres` });
  const stop = async () => {
    await database.end().catch(() => {}); // It may never have been there.
    await program.stop({ withinMs: STOP_MS_MAX });
    if (given === undefined) rmSync(directory, { recursive: true, force: true });
  };
  try {
    await program.ready(() => program.lines.some((line) => line.includes("It stays up")));
    await database.connect();
    await unlimited(database);
  } catch (cause) {
    await stop();
    throw cause;
  }
  return {
    apiUrl,
    directory,
    database,
    tunnelPort: firstPort + 8,
    pidOf: (name) => pidOf(directory, name),
    [Symbol.asyncDispose]: stop,
  };
}

/** Plans bound the load of tenants; the measured tenant gets the larger plan without its limits. */
async function unlimited(client) {
  await client.query(`UPDATE perdure_plans SET environments_per_account_max = 50, ingress_per_second = 1000000, ingress_burst = 1000000,
    admin_per_second = 10000, admin_burst = 10000, actions_per_month = 1000000000, plain_http_allowed = true,
    concurrent_invocations_max = 10000 WHERE id = 'team'`);
  // The small plan keeps its rates.
  await client.query("UPDATE perdure_plans SET plain_http_allowed = true, actions_per_month = 1000000000 WHERE id = 'free'");
}

function pidOf(directory, name) {
  const listed = JSON.parse(readFileSync(join(directory, "running.json"), "utf8"));
  const found = listed.find((one) => one.name === name);
  if (found === undefined) throw new Error(`${name} does not run`);
  return found.pid;
}

/** Process ids of runtimes: processes that run the server with data below the directory. */
export function runtimePids(directory) {
  return readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .filter((pid) => {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, "utf8");
        const environment = readFileSync(`/proc/${pid}/environ`, "utf8");
        return line.includes("standalone/dist/main.mjs") && (line + environment).includes(directory);
      } catch (cause) {
        if (["ENOENT", "ESRCH", "EACCES"].includes(cause.code)) return false; // Gone meanwhile, or not ours.
        throw cause;
      }
    });
}

async function post(url, { token, form, body }) {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  if (body !== undefined) headers["content-type"] = "application/json";
  const answer = await fetch(url, { method: "POST", headers, body: form ?? JSON.stringify(body), redirect: "manual" });
  return { status: answer.status, json: await answer.json().catch(() => undefined) };
}

/** A new user whose CLI is logged in. `plan`: free, or team without limits. */
export async function someone({ apiUrl, database }, email, plan) {
  const outdir = join(root, "libs/testing/conformance/dist");
  await bundle(join(root, "services/tenancy/src/browser-client.ts"), outdir);
  const { BrowserClient } = await import(join(outdir, "main.mjs"));
  const browser = new BrowserClient(apiUrl);
  await browser.submit("/sign-up", "/sign-up", { email, password: PASSWORD, name: "Bench" });
  const device = (await post(`${apiUrl}/oauth/device_authorization`, { form: new URLSearchParams({ client_id: CLIENT }) })).json;
  const { pathname, search } = new URL(device.verification_uri_complete);
  await browser.submit(`${pathname}${search}`, "/device/decide", { decision: "approve", user_code: device.user_code });
  const grant = {
    client_id: CLIENT,
    grant_type: "urn:ietf:params:oauth:grant-type:device_code",
    device_code: device.device_code,
  };
  const token = (await post(`${apiUrl}/oauth/token`, { form: new URLSearchParams(grant) })).json.access_token;
  const cloud = async (name, body, account) => {
    const path = account === undefined ? name : `${account}/${name}`;
    const { status, json } = await post(`${apiUrl}/cloud/${path}`, { token, body });
    if (status !== 200) throw new Error(`${name} answered ${status} ${JSON.stringify(json)}`);
    return json;
  };
  const { accounts } = await cloud("ListAccounts", {});
  const accountId = accounts[0]?.accountId ?? (await cloud("CreateAccount", { name: "Bench" })).accountId;
  await database.query("UPDATE perdure_accounts SET plan_id = $1 WHERE id = $2", [plan, accountId]);
  return { token, call: (name, body) => cloud(name, body, accountId) };
}

/** Resolves when the environment is active. */
export async function createEnvironment(user, name) {
  const { environmentId } = await user.call("CreateEnvironment", { name, region: "us" });
  let facts;
  await until("the environment to be active", async () => {
    facts = await user.call("DescribeEnvironment", { environmentId });
    return facts.status === "ACTIVE";
  });
  const { apiKey, keyId } = await user.call("CreateApiKey", { environmentId, roleId: "rst:role::FullAccess" });
  return { ...facts, apiKey, keyId };
}

export async function register({ adminBaseUrl, apiKey }, uri) {
  let last;
  await until("the endpoint to be registered", async () => {
    last = await post(`${adminBaseUrl.replace(/\/$/, "")}/deployments`, { token: apiKey, body: { uri, force: true } });
    if (last.status >= 400 && last.status < 500) throw Object.assign(new Error(JSON.stringify(last.json)), { fatal: true });
    return last.status === 201 || last.status === 200;
  });
}

/** One call; its status. */
export async function call({ ingressBaseUrl, apiKey }, path = "Bench/noop") {
  const answer = await fetch(`${ingressBaseUrl.replace(/\/$/, "")}/${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}` },
  });
  await answer.arrayBuffer();
  return answer.status;
}
