/**
 * A reverse proxy that requires a token, as deployments put one in front of the management API; tests check that tools send the token and
 * report 401.
 */
import { createServer, request } from "node:http";
import { TestListener } from "../sdk-endpoint.js";

export interface GuardedListener extends AsyncDisposable {
  readonly url: string;
}

/** Forwards requests with `token` to `target`; answers 401 to all others. */
export async function openGuardedListener(target: string, token: string): Promise<GuardedListener> {
  const server = createServer((incoming, outgoing) => {
    if (incoming.headers.authorization !== `Bearer ${token}`) {
      outgoing.writeHead(401, { "content-type": "application/json" }).end('{"message":"who are you?","restate_code":null}');
      return;
    }
    const { method, headers } = incoming;
    const passed = request(`${target}${incoming.url}`, { method, headers, agent: false }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on("error", () => outgoing.destroy());
    incoming.pipe(passed);
  });
  const listener = await TestListener.open(server, 0);
  return { url: `http://127.0.0.1:${listener.port}`, [Symbol.asyncDispose]: () => listener.close() };
}
