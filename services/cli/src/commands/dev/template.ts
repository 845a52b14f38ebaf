/** Template of a new service: the smallest complete project, for a durable call within a minute. */
import { basename } from "node:path";

/** The published SDK with which this release is tested. */
const SDK = { name: "@restatedev/restate-sdk", version: "^1.17.2" };

/** Older versions do not run TypeScript without a build. */
export const NODE_MIN = "22.18";

const serviceText = (ingressPort: number): string => `/**
 * A durable service: each step is stored before the next one starts, so a crash in between repeats nothing that is done.
 * It needs Node ${NODE_MIN} or later, which runs TypeScript as it is; \`perdure dev\` runs it with the Node that Perdure brings.
 *
 *   curl localhost:${ingressPort === 0 ? "<ingress port>" : ingressPort}/Greeter/greet --json '"Ann"'
 */
import { type Context, handlers, serde, serve, service } from ${JSON.stringify(SDK.name)};

/** A JSON schema with an example: perdure dev and the console suggest it as a body. */
const nameSerde = new serde.JsonSerde<string>({ type: "string", examples: ["Ann"] });

const greeter = service({
  name: "Greeter",
  handlers: {
    greet: handlers.handler({ input: nameSerde }, async (ctx: Context, name: string): Promise<string> => {
      // Runs once, however often the handler is tried: its result is in the journal.
      const number = await ctx.run("choose a number", () => Math.ceil(Math.random() * 100));
      // A durable timer: it continues after a restart of service and server.
      await ctx.sleep({ seconds: 1 });
      return \`Hello \${name}, your number is \${number}.\`;
    }),
  },
});

serve({ services: [greeter], port: Number(process.env.PORT ?? 9080) });
`;

/** Contents of files by path; `folder` gives the package its name. `ingressPort` 0: the server takes a free one. */
export function templateOf(folder: string, ingressPort: number): ReadonlyMap<string, string> {
  const manifest = {
    name: nameOf(basename(folder)),
    version: "0.1.0",
    private: true,
    type: "module",
    scripts: { dev: "node --watch src/service.ts", start: "node src/service.ts" },
    dependencies: { [SDK.name]: SDK.version },
    engines: { node: `>=${NODE_MIN}` },
  };
  return new Map([
    ["package.json", `${JSON.stringify(manifest, undefined, 2)}\n`],
    ["src/service.ts", serviceText(ingressPort)],
    [".gitignore", "node_modules/\n.perdure/\n"],
  ]);
}

function nameOf(folder: string): string {
  const name = folder
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, "-")
    .replace(/^-+|-+$/g, "");
  return name === "" ? "my-service" : name;
}
