/** Runs the `curl` commands of documents against the ports of a test. */
import { type HttpAnswer, HttpClient } from "./http.js";

/** `curl` as far as documents use it: an address, `-H`, `-d`, `--json`. `ports` has the test's port for each port of the document. */
export async function curl(command: string, ports: Readonly<Record<string, string>>): Promise<HttpAnswer> {
  const { address, headers, body } = parse(command);
  const translate = (text: string) => text.replace(/localhost:(\d+)/g, (_, port: string) => `127.0.0.1:${ports[port] ?? port}`);
  const url = new URL(`http://${translate(address)}`);
  using http = new HttpClient(url.origin);
  return await http.request(body === undefined ? "GET" : "POST", url.pathname, {
    headers,
    ...(body === undefined ? {} : { body: translate(body) }),
  });
}

interface CurlCommand {
  readonly address: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

function parse(command: string): CurlCommand {
  const args = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? "");
  const headers: Record<string, string> = {};
  let address = "";
  let body: string | undefined;
  for (let i = 1; i < args.length; i++) {
    const arg = args[i] ?? "";
    if (arg === "-H") {
      const [name = "", value = ""] = (args[++i] ?? "").split(": ");
      headers[name] = value;
    } else if (arg === "-d") body = args[++i];
    else if (arg === "--json") {
      body = args[++i];
      headers["content-type"] = "application/json";
    } else if (!arg.startsWith("-")) address = arg;
    else throw new Error(`curl ${arg} is not supported here`);
  }
  return { address, headers, body };
}
