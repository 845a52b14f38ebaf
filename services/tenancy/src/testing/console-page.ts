/** The console's page as the server sees it: a browser's cookies and the page's CSRF proof. */
import { type IncomingHttpHeaders, request } from "node:http";
import { BrowserClient } from "../browser-client.js";

export interface PageAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** `restate_code` of an error. */
  readonly code: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: tests assert the shape that they expect.
  readonly json: any;
}

/** Password of all users of tests of the console. */
export const CONSOLE_PASSWORD = "correct horse battery";

export class ConsolePage {
  readonly browser: BrowserClient;
  readonly origin: string;
  csrf = "";

  constructor(origin: string, browser = new BrowserClient(origin)) {
    this.origin = origin;
    this.browser = browser;
  }

  /** The page of a user who has just signed up. */
  static async of(origin: string, email: string): Promise<ConsolePage> {
    const page = new ConsolePage(origin);
    const { status } = await page.browser.submit("/sign-up", "/sign-up", { email, password: CONSOLE_PASSWORD, name: "Ada" });
    if (status !== 303) throw new Error(`signing up answered ${status}`);
    await page.load();
    return page;
  }

  /** Requests the session, as the page does at its start. */
  async load(): Promise<PageAnswer> {
    const answer = await this.request("GET", "/console/session");
    this.csrf = answer.json?.csrf ?? "";
    return answer;
  }

  get cookie(): string {
    return [...this.browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  }

  post(path: string, body: unknown = {}, headers: Record<string, string> = {}): Promise<PageAnswer> {
    return this.request("POST", path, { "content-type": "application/json", ...headers }, JSON.stringify(body));
  }

  /** `headers` beside the cookie and the proof, or instead of them; an empty one is left out. */
  request(method: string, path: string, headers: Record<string, string> = {}, body?: string): Promise<PageAnswer> {
    const length: Record<string, string> = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
    const all = { ...length, cookie: this.cookie, "x-perdure-csrf": this.csrf, "sec-fetch-site": "same-origin", ...headers };
    const sent = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ""));
    return new Promise((resolve, reject) => {
      const { hostname, port } = new URL(this.origin);
      const outgoing = request({ host: hostname, port, method, path, headers: sent, agent: false }, (res) => {
        let text = "";
        res.setEncoding("utf8").on("data", (chunk: string) => {
          text += chunk;
        });
        res.on("error", reject);
        res.on("end", () => {
          const isJson = (res.headers["content-type"] ?? "").includes("json");
          const json = isJson && text !== "" ? JSON.parse(text) : undefined;
          resolve({ status: res.statusCode ?? 0, headers: res.headers, text, json, code: json?.restate_code });
        });
      });
      outgoing.on("error", reject).end(body);
    });
  }
}
