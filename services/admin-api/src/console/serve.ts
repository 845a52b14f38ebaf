/**
 * Serves the console of this environment at `/ui/`; every path below it that is not a file serves the console's page (admin-api.md §2). It
 * is handled before routes and their bounds: it is answered from memory, and operators need it most when the API is busy.
 */
import { type Logger, PerdureError } from "@perdure/base";
import { type ConsoleHost, openConsole } from "@perdure/console-host";
import { VERSION } from "@perdure/telemetry";
import { empty } from "../http/answer.js";
import { RouteError } from "../http/errors.js";
import type { ApiRoute } from "../http/route.js";
import type { RequestListener } from "../http/server.js";
import type { AdminOptions, AdminPorts } from "../ports.js";

/** Path of the console, with a slash at its end: the page requests its files relative to it. */
const BASE = "/ui/";

/** The same page below a version of the interface; the console has only one address. */
const VERSIONED = /^\/v[2-4](\/ui\/.*)$/;

/** Shown where no console is served. */
const NOT_HERE =
  "The console is not served here: it is turned off (`admin.disable-web-ui`), or was not part of this build (`make build` makes it)";

/** The built console; undefined where there is none. A damaged console is logged and not served, but does not stop the server. */
export async function openAdminConsole(directory: string, logger: Logger): Promise<ConsoleHost | undefined> {
  try {
    const host = await openConsole(directory, { base: BASE, csp: { connect: [] } });
    if (host === undefined) logger.info({ directory }, "the console was not built; /ui/ has nothing to show");
    return host;
  } catch (cause) {
    const { code } = PerdureError.from(cause);
    logger.warn({ directory, code, cause }, "the console cannot be read; /ui/ has nothing to show");
    return undefined;
  }
}

/** Answers requests for the console and passes all others to `api`. */
export function withConsole(ports: AdminPorts, options: AdminOptions, api: RequestListener): RequestListener {
  const { console: host, crashAttempt } = ports;
  if (host === undefined) return api;
  const canCrash = crashAttempt !== undefined;
  return (req, res) => {
    if (req.url?.startsWith(BASE) !== true) return api(req, res);
    const ingressUrl = ingressUrlFor(req.headers.host, options);
    const boot = { kind: "local", ingressUrl, canCrash, version: VERSION, docsUrl: options.docsUrl, traceUrl: options.traceUrl };
    if (!host.handle(req, res, boot, [new URL(ingressUrl).origin])) api(req, res);
  };
}

/** Address of the ingress for the console: the advertised one, otherwise the host name of the request with the ingress's port. */
function ingressUrlFor(host: string | undefined, options: AdminOptions): string {
  const ingressEndpoint = options.ingressEndpoint();
  const ingressPort = options.ingressPort?.();
  if (ingressEndpoint !== undefined && ingressPort === undefined) return ingressEndpoint;
  const name = /^([\w.-]+|\[[\da-f:.]+\])(?::\d+)?$/i.exec(host ?? "")?.[1];
  const rest = `:${ingressPort ?? INGRESS_PORT}/`;
  const url = `http://${name}${rest}`;
  return name !== undefined && URL.canParse(url) ? url : `http://localhost${rest}`; // `1.2.3.4.5` is not a host name.
}

/** Default port of an ingress. */
const INGRESS_PORT = 8080;

/** Routes that redirect to the console, or answer with an explanation where there is none. */
export function consoleRoutes(): readonly ApiRoute[] {
  const leading = (path: string): ApiRoute => ({
    path,
    isInternal: true,
    operations: {
      GET: { summary: "To the console", answers: { 308: "There" }, handle: () => empty(308, { location: BASE }) },
    },
  });
  const below = (path: string): ApiRoute => ({
    path,
    isInternal: true,
    operations: {
      GET: {
        summary: "The console",
        answers: {
          200: "The page, or a file of it",
          308: "To the console, from below a generation",
          404: "It is not served here",
        },
        handle: ({ target }) => {
          const versioned = VERSIONED.exec(target)?.[1];
          if (versioned !== undefined) return empty(308, { location: versioned });
          throw new RouteError(404, NOT_HERE);
        },
      },
    },
  });
  return [leading("/"), leading("/ui"), below("/ui/"), below("/ui/{*path}")];
}
