/** The paths below `/testing`: clock, faults and journals for tests in any language. Only the test server has them. */
import type { RequestListener } from "@perdure/admin-api";
import { z } from "zod";
import type { TestEnvironment } from "../environment.js";
import type { Fault } from "../faults/faults.js";
import { BODY_BYTES_MAX, FAULTS_MAX } from "../limits.js";

const count = z.number().int().positive().default(1);
const selector = {
  step: z.string().min(1),
  service: z.string().optional(),
  handler: z.string().optional(),
  key: z.string().optional(),
};
const parts = z.strictObject({
  days: z.number().optional(),
  hours: z.number().optional(),
  minutes: z.number().optional(),
  seconds: z.number().optional(),
  milliseconds: z.number().optional(),
});
type Parts = z.output<typeof parts>;

const Advance = z.union([z.strictObject({ to: z.iso.datetime({ offset: true }) }), parts]);
const NewFault = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("crash"), ...selector, times: count, when: z.enum(["before-ack", "after-ack"]) }),
  z.strictObject({
    kind: z.literal("fail"),
    ...selector,
    times: count,
    message: z.string().optional(),
    terminal_code: z.number().int().positive().optional(),
  }),
  z.strictObject({ kind: z.literal("slow"), ...selector, times: count, by: parts }),
]);
const Drop = z.strictObject({ service: z.string().optional() });

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

class BadRequest extends Error {}

/** Serves `/testing/…`, and leaves all other paths to the management API. */
export function testingRoutes(environment: () => TestEnvironment, managementApi: RequestListener): RequestListener {
  const routes = new TestingRoutes(environment);
  return (request, response) => {
    const path = (request.url ?? "").split("?", 1)[0] ?? "";
    if (path !== "/testing" && !path.startsWith("/testing/")) return managementApi(request, response);
    void answer(routes, request, path).then(({ status, body }) => {
      response.statusCode = status;
      response.setHeader("content-type", "application/json");
      response.end(`${JSON.stringify(body)}\n`);
    });
  };
}

async function answer(routes: TestingRoutes, request: Parameters<RequestListener>[0], path: string): Promise<Answer> {
  try {
    const [, , first = "", second] = path.split("/").map(decodeURIComponent);
    const body = request.method === "POST" ? await bodyOf(request) : undefined;
    return await routes.answer(`${request.method} ${first}`, second, body);
  } catch (cause) {
    const message = cause instanceof z.ZodError ? z.prettifyError(cause) : cause instanceof Error ? cause.message : String(cause);
    const isClients =
      cause instanceof z.ZodError ||
      cause instanceof BadRequest ||
      cause instanceof RangeError ||
      cause instanceof TypeError ||
      cause instanceof URIError;
    return { status: isClients ? 400 : 409, body: { message } };
  }
}

/** An empty body is an empty object. */
async function bodyOf(request: Parameters<RequestListener>[0]): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    const data = chunk instanceof Uint8Array ? chunk : Buffer.from(String(chunk));
    bytes += data.length;
    if (bytes > BODY_BYTES_MAX) throw new BadRequest(`the body is larger than ${BODY_BYTES_MAX} bytes`);
    chunks.push(data);
  }
  if (bytes === 0) return {};
  try {
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString("utf8"));
    return value;
  } catch {
    throw new BadRequest("the body is not JSON");
  }
}

class TestingRoutes {
  readonly #environment: () => TestEnvironment;
  readonly #faults = new Map<string, { readonly fault: Fault; readonly kind: string; readonly step: string }>();
  #lastFault = 0;

  constructor(environment: () => TestEnvironment) {
    this.#environment = environment;
  }

  async answer(route: string, id: string | undefined, body: unknown): Promise<Answer> {
    const environment = this.#environment();
    switch (route) {
      case "GET clock":
        return this.#clock();
      case "POST clock":
        await advance(environment, Advance.parse(body));
        return this.#clock();
      case "POST idle":
        await environment.idle();
        return this.#clock();
      case "GET faults":
        return { status: 200, body: { faults: [...this.#faults].map(([faultId, one]) => shownFault(faultId, one)) } };
      case "POST faults":
        return this.#add(NewFault.parse(body));
      case "DELETE faults":
        return this.#remove(id);
      case "POST connections":
        return { status: 200, body: { dropped: environment.dropConnection(serviceOf(Drop.parse(body))) } };
      case "GET journals":
        if (id === undefined) return { status: 200, body: { unfinished: await environment.unfinished() } };
        return { status: 200, body: await environment.journal(id) };
      case "GET log":
        return { status: 200, body: { lines: environment.engineLog } };
      default:
        return { status: 404, body: { message: "There is nothing at this path" } };
    }
  }

  #clock(): Answer {
    return { status: 200, body: { now: this.#environment().now().toISOString() } };
  }

  #add(request: z.output<typeof NewFault>): Answer {
    if (this.#faults.size >= FAULTS_MAX) throw new BadRequest(`there are ${FAULTS_MAX} faults already: delete some`);
    const id = String(++this.#lastFault);
    const entry = { fault: setFault(this.#environment(), request), kind: request.kind, step: request.step };
    this.#faults.set(id, entry);
    return { status: 201, body: shownFault(id, entry) };
  }

  #remove(id: string | undefined): Answer {
    const removed = id === undefined ? [...this.#faults.keys()] : this.#faults.has(id) ? [id] : undefined;
    if (removed === undefined) return { status: 404, body: { message: `there is no fault ${id}` } };
    for (const one of removed) {
      this.#faults.get(one)?.fault.remove();
      this.#faults.delete(one);
    }
    return { status: 200, body: { removed } };
  }
}

function shownFault(id: string, { fault, kind, step }: { readonly fault: Fault; readonly kind: string; readonly step: string }) {
  return { id, kind, step, hits: fault.hits };
}

function serviceOf({ service }: z.output<typeof Drop>): { readonly service?: string } {
  return service === undefined ? {} : { service };
}

function advance(environment: TestEnvironment, request: z.output<typeof Advance>): Promise<void> {
  return "to" in request ? environment.advanceTo(new Date(request.to)) : environment.advance(lengthMs(request));
}

/** The members that are absent count as zero. */
function lengthMs({ days = 0, hours = 0, minutes = 0, seconds = 0, milliseconds = 0 }: Parts): number {
  return (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000 + milliseconds;
}

function setFault(environment: TestEnvironment, request: z.output<typeof NewFault>): Fault {
  switch (request.kind) {
    case "crash":
      return environment.crashAt(request);
    case "fail":
      return environment.failStep({ ...request, terminalCode: request.terminal_code });
    case "slow":
      return environment.slowStep({ ...request, by: lengthMs(request.by) });
  }
}
