/** The tutorial of the cluster, played against a cluster that runs already: its commands are those of the page. */
import { join } from "node:path";
import { expect } from "@jest/globals";
import { eventually, TutorialPage } from "@perdure/conformance";
import { ROOT } from "@perdure/dev-cluster";

export interface ClusterPorts {
  readonly ingress: number;
  readonly admin: number;
  /** A free port for the reader's service. */
  readonly service: number;
}

/** `folder`: a temporary one. */
export async function playClusterTutorial({ ingress, admin, service }: ClusterPorts, folder: string): Promise<void> {
  await using page = new TutorialPage("docs/tutorials/run-in-a-cluster.md", {
    cwd: join(ROOT, "deploy/examples/tutorial-typescript"),
    ports: { "8080": ingress, "9070": admin, "9081": service },
    env: { HOME: folder, PERDURE_ADMIN_URL: `http://localhost:${admin}`, EFFECTS_FILE: join(folder, "effects.log") },
  });
  await page.start("PORT=9081 node src/main.ts").until(/listening on \d+/);
  await page.run(`curl localhost:9070/deployments --json '{"uri": "http://localhost:9081", "breaking": true}'`);
  await page.run(`curl localhost:8080/Order/order-1/run/send --json '{"item": "lamp", "amount": 49, "remindAfterSeconds": 5}'`);

  const leaders = await page.run(`perdure sql "SELECT id, leader_address FROM sys_partition"`);
  const [, port = ""] = /:(\d+)/.exec(leaders) ?? [];
  await page.run("kill -9 $(lsof -t -i :PORT -s TCP:LISTEN)      # PORT: that of one of the addresses", {
    replace: { ":PORT": `:${port}` },
  });

  await page.run("curl localhost:8080/Order/order-1/decide --json 'true'");
  expect(await page.run("curl localhost:8080/restate/workflow/Order/order-1/attach")).toBe('"order-1: shipped"');
  // The caller starts and stops the cluster.
  expect(page.unplayed).toEqual(["make cluster", "make cluster-down"]);
  await eventually("the killed worker is there again", async () => (await leadersAt(admin)).has(port));
}

/** Ports of the workers that lead a partition. */
async function leadersAt(admin: number): Promise<ReadonlySet<string>> {
  const response = await fetch(`http://localhost:${admin}/query`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify({ query: "SELECT leader_address FROM sys_partition" }),
  });
  const { rows } = (await response.json()) as { rows: { leader_address: string }[] };
  return new Set(rows.map(({ leader_address: address }) => /:(\d+)/.exec(address)?.[1] ?? ""));
}
