/** A program whose handler of HTTP/2 streams has no listener for errors; `edge` as the first argument makes it an edge process. */
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { group, loadConfig, type ProcessSpec, processSettings, runProgram } from "../src/index.js";

const schema = group("Settings of a test's program.", { ...processSettings });

const spec: ProcessSpec<typeof schema> = {
  program: "edge-process",
  service: "edge-process",
  schema,
  load: (inputs) => loadConfig(schema, { ...inputs, reservedVariables: [], aliases: [] }),
  isEdge: process.argv[2] === "edge",
  async start(_settings, { metrics }) {
    const server = createServer();
    server.on("stream", (stream, headers) => {
      if (headers[":path"] === "/invariant") throw new Error("this cannot be");
      if (stream.destroyed) return;
      stream.respond({ ":status": 200 });
      stream.end(metrics.text());
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return { port: String((server.address() as AddressInfo).port) };
  },
};

process.exit(await runProgram(spec, "for a test", ["--log-format", "json"], process.env));
