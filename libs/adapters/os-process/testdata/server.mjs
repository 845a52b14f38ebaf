// As much of a server as a provisioner needs: two listeners, a secret, an end. It exits when its data requests it.
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

const settings = new Map(process.argv.filter((arg) => arg.startsWith("--")).map((arg) => arg.slice(2).split(/=(.*)/s)));
const data = settings.get("base-dir");
appendFileSync(join(data, "starts"), `${settings.get("runtime.mode")}\n`);
if (existsSync(join(data, "broken"))) process.exit(3);
const big = existsSync(join(data, "big")) ? Buffer.alloc(300 * 1024 * 1024, 1) : undefined;
const secret = readFileSync(settings.get("runtime.secret-file"), "utf8");
for (const door of ["ingress", "admin"]) {
  const listensLater = door === "ingress" && existsSync(join(data, "late-ingress"));
  const server = createServer((request, response) => {
    response.statusCode = request.headers["x-perdure-runtime-secret"] === secret ? 200 : 401;
    if (door === "admin" && request.url === "/readyz" && existsSync(join(data, "stuck"))) {
      response.statusCode = 503;
      return response.end('{"message":"not ready: waiting for a durable commit"}');
    }
    response.end(`${process.pid}${big === undefined ? "" : " big"}`);
  });
  const listen = () => server.listen(Number(settings.get(`${door}.bind-port`)), settings.get(`${door}.bind-address`));
  setTimeout(listen, listensLater ? 1_500 : 0);
}
console.log(JSON.stringify({ level: "info", ts: new Date().toISOString(), msg: "ready" }));
process.on("SIGTERM", () => process.exit(0));
