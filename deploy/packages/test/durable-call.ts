/** One call that survives a killed server, for every form in which the server is installed. */
import { expect } from "@jest/globals";
import { SdkEndpoint, Server } from "@perdure/conformance";
import { service } from "@restatedev/restate-sdk";

const JSON_TYPE = { "content-type": "application/json", accept: "application/json" };
/** Long enough that the server is killed meanwhile. */
const SLEEP_MS = 1_500;

/**
 * `executable` starts the server with the argument `server`. Ends with a statement of SQL and the console, which need their own files, and with SIGTERM to
 * the process group, after which the server drains and exits with 0.
 */
export async function expectDurableCall(executable: string, environment: Readonly<Record<string, string>>): Promise<void> {
  const before = process.env["PERDURE_CONFORMANCE_EXECUTABLE"];
  process.env["PERDURE_CONFORMANCE_EXECUTABLE"] = executable;
  try {
    const begun = Promise.withResolvers<void>();
    let runs = 0;
    const greeter = service({
      name: "Greeter",
      handlers: {
        greet: async (ctx, name: string) => {
          const greeting = await ctx.run("greeting", () => `Hello ${name}, ${++runs}`);
          begun.resolve();
          await ctx.sleep(SLEEP_MS);
          return greeting;
        },
      },
    });
    await using endpoint = await SdkEndpoint.start({ services: [greeter] });
    await using server = await Server.start({ environment });
    const registration = { method: "POST", headers: JSON_TYPE, body: JSON.stringify({ uri: endpoint.url }) };
    expect((await fetch(`${server.adminUrl}/deployments`, registration)).status).toBe(201);
    const headers = { ...JSON_TYPE, "idempotency-key": "once" };
    const greet = (): Promise<Response> =>
      fetch(`${server.ingressUrl}/Greeter/greet`, { method: "POST", headers, body: '"Ada"' });
    const lost = greet().catch(() => undefined);
    await begun.promise;
    await server.kill();
    await lost;
    await server.startAgain();
    expect(await (await greet()).json()).toBe("Hello Ada, 1");
    expect(runs).toBe(1);
    const sql = JSON.stringify({ query: "SELECT count(*) AS n FROM sys_invocation" });
    const rows = await fetch(`${server.adminUrl}/query`, { method: "POST", headers: JSON_TYPE, body: sql });
    expect(await rows.json()).toEqual({ rows: [{ n: 1 }] });
    expect(await (await fetch(`${server.adminUrl}/ui/`)).text()).toContain("<title>");
    expect((await server.stop()).code).toBe(0);
  } finally {
    if (before === undefined) delete process.env["PERDURE_CONFORMANCE_EXECUTABLE"];
    else process.env["PERDURE_CONFORMANCE_EXECUTABLE"] = before;
  }
}
