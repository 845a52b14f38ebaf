/**
 * A browser without a screen, for demos and tests of the pages: it keeps cookies, fills in forms and follows redirections only on request.
 */
export interface PageResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Target of a redirection; empty without one. */
  readonly location: string;
}

export class BrowserClient {
  readonly origin: string;
  readonly #userAgent: string;
  readonly cookies = new Map<string, string>();

  constructor(origin: string, userAgent = "Test Browser") {
    this.origin = origin;
    this.#userAgent = userAgent;
  }

  async get(path: string): Promise<PageResponse> {
    return await this.#fetch(path, { method: "GET" });
  }

  /** Posts as the page at `formPath` would: with its CSRF proof and its other hidden fields. */
  async submit(formPath: string, path: string, fields: Readonly<Record<string, string>>): Promise<PageResponse> {
    return await this.post(path, { csrf: csrfOf((await this.get(formPath)).text), ...fields });
  }

  async post(
    path: string,
    fields: Readonly<Record<string, string>>,
    headers: Record<string, string> = {},
  ): Promise<PageResponse> {
    return await this.#fetch(path, { method: "POST", body: new URLSearchParams(fields), headers });
  }

  async #fetch(
    path: string,
    init: { method: string; body?: URLSearchParams; headers?: Record<string, string> },
  ): Promise<PageResponse> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const headers = { ...init.headers, cookie, "user-agent": this.#userAgent };
    const response = await fetch(new URL(path, this.origin), { ...init, headers, redirect: "manual" });
    for (const line of response.headers.getSetCookie()) {
      const [pair = "", ...attributes] = line.split("; ");
      const at = pair.indexOf("=");
      if (attributes.includes("Max-Age=0")) this.cookies.delete(pair.slice(0, at));
      else this.cookies.set(pair.slice(0, at), pair.slice(at + 1));
    }
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, location: response.headers.get("location") ?? "" };
  }
}

export function csrfOf(text: string): string {
  return /name="csrf" value="([^"]+)"/.exec(text)?.[1] ?? "";
}
