/** The few requests of the demo. Any response but success is an error with its text. */

export interface ServerAddresses {
  readonly ingress: string;
  readonly admin: string;
}

async function answerOf(response: Response): Promise<unknown> {
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.url} answered ${response.status}: ${text}`);
  return text === "" ? undefined : JSON.parse(text);
}

export async function get(url: string): Promise<unknown> {
  return answerOf(await fetch(url));
}

export async function post(url: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<unknown> {
  const init: RequestInit = { method: "POST", headers };
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers = { ...headers, "content-type": "application/json" };
  }
  return answerOf(await fetch(url, init));
}

export function call(server: ServerAddresses, path: string, body?: unknown): Promise<unknown> {
  return post(`${server.ingress}/${path}`, body);
}

/** Sends the call and returns its id without waiting for the result. With an idempotency key the result is kept for a day. */
export async function send(server: ServerAddresses, path: string, body?: unknown, idempotencyKey?: string): Promise<string> {
  const headers = idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey };
  const { invocationId } = (await post(`${server.ingress}/${path}/send`, body, headers)) as { invocationId: string };
  return invocationId;
}

export async function attach(server: ServerAddresses, invocationId: string): Promise<unknown> {
  return answerOf(await fetch(`${server.ingress}/restate/invocation/${invocationId}/attach`));
}

/** Registers an endpoint; returns the names of its services. */
export async function register(server: ServerAddresses, uri: string): Promise<string[]> {
  const { services } = (await post(`${server.admin}/deployments`, { uri, force: true })) as { services: { name: string }[] };
  return services.map((service) => service.name).sort();
}

/** Throws until both ingress and management API respond. */
export async function checkHealth(server: ServerAddresses): Promise<void> {
  for (const url of [`${server.admin}/health`, `${server.ingress}/restate/health`]) {
    const response = await fetch(url);
    await response.body?.cancel();
    if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  }
}
