/** The tutorial of the cloud, played against a cloud that runs already: its commands are those of the page. */
import { join } from "node:path";
import { expect } from "@jest/globals";
import { TutorialPage } from "@perdure/conformance";
import { ROOT } from "@perdure/dev-cluster";
import { BrowserClient } from "@perdure/tenancy/visitor";

export interface CloudPorts {
  readonly api: number;
  /** A free port for the reader's service. */
  readonly service: number;
}

const PASSWORD = "a password of the tutorial";

/** `folder`: a temporary one. */
export async function playCloudTutorial({ api, service }: CloudPorts, folder: string): Promise<void> {
  await using page = new TutorialPage("docs/tutorials/run-in-the-cloud.md", {
    cwd: join(ROOT, "deploy/examples/tutorial-typescript"),
    ports: { "8085": api, "9081": service },
    // No browser can be opened here: the test clicks.
    env: { HOME: folder, BROWSER: "none", EFFECTS_FILE: join(folder, "effects.log") },
  });
  page.export("export PERDURE_API_URL=http://localhost:8085");
  const browser = new BrowserClient(`http://localhost:${api}`, "The reader's browser");
  const signUp = { email: "reader@example.com", password: PASSWORD, name: "Reader" };
  expect((await browser.submit("/sign-up", "/sign-up", signUp)).status).toBe(303);
  const login = page.start("perdure login");
  const [, code = ""] = await login.until(/\b([B-Z]{4}-[B-Z]{4})\b/);
  const decision = { user_code: code, decision: "approve" };
  expect((await browser.submit(`/device?user_code=${code}`, "/device/decide", decision)).status).toBe(200);
  expect((await login.ended).exitCode).toBe(0);
  const created = await page.run("perdure env create dev --use");
  const [, ingressPort = ""] = /http:\/\/[^:\s]+:(\d+)/.exec(created) ?? [];

  await page.start("PORT=9081 node src/main.ts").until(/listening on \d+/);
  await page.start("perdure tunnel --tunnel-name laptop --local-port 9081").until(/tunnel:\/\/laptop/);
  await page.run("perdure deployments register tunnel://laptop:9081", { append: "--yes" });

  const order = page.run(`perdure call Order/order-1/run '{"item": "lamp", "amount": 49, "remindAfterSeconds": 5}'`);
  await page.run("perdure call Order/order-1/decide true");
  expect(await order).toContain("order-1: shipped");

  const key = /key_\S+/.exec(await page.run("perdure keys create --role ingress"))?.[0] ?? "";
  const status = await page.run(
    "curl http://localhost:INGRESS_PORT/Order/order-1/status -X POST -H 'authorization: Bearer KEY'",
    { replace: { INGRESS_PORT: ingressPort, KEY: key } },
  );
  expect(status).toBe('"shipped"');
  // The caller starts and stops the cloud.
  expect(page.unplayed).toEqual(["make cloud", "make cloud-down"]);
}
