/**
 * `perdure dev`: runs a server and the developer's service, registered with each other. It starts what is missing, discovers a service that
 * already runs, and stops what it started.
 */

import { dirname, resolve } from "node:path";
import { AdminClient } from "@perdure/admin-client";
import { type NodeTransport, nodeTransport } from "@perdure/admin-client/node";
import { causeCode, present } from "@perdure/base";
import { isPortFree } from "@perdure/process-kit/port-holder";
import { type Context, USER_AGENT } from "../../context.js";
import { LOCAL } from "../../environment.js";
import { CliError, FAILED } from "../../errors.js";
import { pause } from "../../pause.js";
import { App } from "./app.js";
import { ChildProgram, exitText } from "./child.js";
import { type EndpointEvents, findEndpoints, USUAL_PORTS, watchEndpoint } from "./endpoint.js";
import { foreignPorts, reportElsewhere } from "./foreign.js";
import { removeHolder, writeHolder } from "./holder.js";
import type { StartCommand } from "./languages/start-command.js";
import { ELSEWHERE_PROBE_INTERVAL, QUICK_PROBES_MAX, SEARCH_PAUSE_MS } from "./limits.js";
import { contentOf, type Install, installOf, isEmptyFolder, startGiven, startOf, startText } from "./project.js";
import { DevReport, NOTHING_IS_LOST } from "./report.js";
import { type DevServer, requirePorts, type ServerPorts, startServer } from "./server.js";
import { watchSources } from "./source-watch.js";
import { NODE_MIN } from "./template.js";
import { writeTemplate } from "./write-template.js";

interface DevOptions {
  /** Port of the service; the usual ports when undefined. */
  readonly port: number | undefined;
  readonly serverPorts: ServerPorts;
  readonly data: string;
  readonly bind: string;
  /** Does not start the service of the folder. */
  readonly attachOnly: boolean;
  /** Command that starts the service; detected when empty. */
  readonly command: readonly string[];
}

/** The options, with the results of the check of the usual ports. */
interface DevSurroundings extends DevOptions {
  /** Usual ports with services of other projects. */
  readonly foreign: readonly number[];
  /** Passed to the service as `PORT`: the chosen port, or a free one when another project has the usual one. */
  readonly appPort: number | undefined;
}

export async function dev(context: Context, given: DevOptions): Promise<void> {
  const report = new DevReport(context);
  const folder = process.cwd();
  await requirePorts(context, given.serverPorts);
  const options = await surroundingsOf(context, report, folder, given);
  const isNew = await prepareFolder(context, report, folder, options);
  const data = resolve(folder, options.data);
  using transport = nodeTransport();
  const starting = startServer(context, { ports: options.serverPorts, data, bind: options.bind }, (line) =>
    report.line("server", line),
  );
  let app: App | undefined;
  let server: DevServer | undefined;
  try {
    // Packages are installed while the server starts.
    const install = await whatToInstall(context, report, folder, isNew, options);
    const [started] = await Promise.all([
      starting,
      install === undefined ? undefined : installPackages(context, report, folder, install),
    ]);
    server = started;
    writeHolder(data, server);
    report.good(
      "server",
      `The server runs: calls at ${server.ingressUrl}, management at ${server.adminUrl}, the console at ${new URL("/ui/", server.adminUrl).href}, data in ${options.data}`,
      {
        ingressUrl: server.ingressUrl,
        adminUrl: server.adminUrl,
        data,
      },
    );
    sayHowToReach(context, report, server);
    const startedApp = await startApp(context, report, folder, options, portsOf(options, server));
    app = startedApp?.app;
    await Promise.race([
      serve(context, report, folder, options, server, transport, app),
      untilServerEnds(context, server),
      ...(startedApp === undefined || startedApp.restartsOn.length === 0
        ? []
        : [restartOnChange(context, report, folder, startedApp)]),
    ]);
  } finally {
    // Stop the server first: it must not call a service that has stopped.
    const running = server ?? (await startedServer(starting));
    if (context.signal.aborted) report.say("stopping", "Stopping …");
    await running?.child.stop();
    if (server !== undefined) removeHolder(data);
    await app?.stop();
    if (context.signal.aborted) report.say("stopped", "Stopped. Invocations that are not completed continue at the next start.");
  }
}

async function surroundingsOf(
  context: Context,
  report: DevReport,
  folder: string,
  options: DevOptions,
): Promise<DevSurroundings> {
  if (options.port !== undefined || options.attachOnly) return { ...options, foreign: [], appPort: options.port };
  const foreign = await foreignPorts(context, report, folder, portsOf({ ...options, foreign: [] }));
  const surroundings = { ...options, foreign };
  const isUsualPortOccupied = foreign.includes(present(USUAL_PORTS[0]));
  return { ...surroundings, appPort: isUsualPortOccupied ? await firstFree(portsOf(surroundings)) : undefined };
}

async function firstFree(ports: readonly number[]): Promise<number | undefined> {
  for (const port of ports) if (await isPortFree(port)) return port;
  return undefined;
}

async function startedServer(starting: Promise<DevServer>): Promise<DevServer | undefined> {
  const [outcome] = await Promise.allSettled([starting]);
  return outcome.status === "fulfilled" ? outcome.value : undefined;
}

async function untilServerEnds(context: Context, { child }: DevServer): Promise<never> {
  const exit = await child.exited;
  context.signal.throwIfAborted();
  throw new CliError(
    FAILED,
    `The server ended with ${exitText(exit)}`,
    "Nothing that it accepted is lost: perdure dev starts it again on the same data.",
  );
}

// ── the folder ───────────────────────────────────────────────────────────────────────────────────

/** Resolves with whether a new service was written. */
async function prepareFolder(context: Context, report: DevReport, folder: string, options: DevSurroundings): Promise<boolean> {
  if (options.command.length > 0 || options.attachOnly || !isEmptyFolder(folder)) return false;
  if ((await findEndpoints(portsOf(options))).length > 0) return false;
  const isConfirmed =
    context.yes ||
    (context.prompts.isInteractive &&
      (await context.prompts.confirm("This folder is empty. Write a small TypeScript service into it?", "--yes")));
  if (!isConfirmed) {
    report.say("empty", "This folder is empty. `perdure dev --yes` writes a small TypeScript service into it.");
    return false;
  }
  const written = writeTemplate(folder, options.serverPorts.ingress);
  report.good("written", `Written: ${written.join(", ")}`, { files: written });
  report.say("hint", nodeHint());
  return true;
}

/** The project runs here with the bundled Node; in a shell of its own another version may run it. */
const nodeHint = (): string =>
  `The project needs Node ${NODE_MIN} or later. perdure dev runs it with the Node ${process.versions.node} that Perdure brings (${dirname(process.execPath)}); ` +
  "'npm run dev' alone uses the one of your shell.";

/** Returns the command that installs the packages of a project that has none yet; undefined when there is nothing to install. */
async function whatToInstall(
  context: Context,
  report: DevReport,
  folder: string,
  isNew: boolean,
  options: DevSurroundings,
): Promise<Install | undefined> {
  if (options.attachOnly || options.command.length > 0) return undefined;
  const install = installOf(folder);
  if (install === undefined || isNew || context.yes) return install;
  const text = startText(install);
  if (
    context.prompts.isInteractive &&
    (await context.prompts.confirm(`The packages of this project are not installed. Run '${text}'?`, "--yes"))
  )
    return install;
  const missing = "The packages of this project are not installed";
  // A service that already runs may have its packages elsewhere.
  if (startOf(folder)?.isCertain === true && (await findEndpoints(portsOf(options))).length === 0)
    context.fail(FAILED, missing, `Run '${text}', then perdure dev. Or: perdure dev --yes`);
  report.say("hint", `${missing}: ${text}`);
  return undefined;
}

async function installPackages(context: Context, report: DevReport, folder: string, { command, args }: Install): Promise<void> {
  report.say("installing", `Fetching packages (${command} install) …`);
  const child = await startedOrAdvised(context, command, () =>
    ChildProgram.start({
      command,
      args,
      cwd: folder,
      env: appEnvironment(context, undefined),
      clock: context.clock,
      onLine: (line) => (line.trim() === "" ? undefined : report.line("npm", line)),
    }),
  );
  const stop = (): void => child.signal("SIGTERM");
  context.signal.addEventListener("abort", stop, { once: true });
  const exit = await child.exited;
  context.signal.removeEventListener("abort", stop);
  if (context.signal.aborted)
    report.bad(
      "not-installed",
      "The packages are not installed: their installation was stopped",
      `Run '${command} install', then perdure dev.`,
    );
  context.signal.throwIfAborted();
  if (exit.code !== 0)
    context.fail(
      FAILED,
      `${command} install ended with ${exitText(exit)}`,
      "Its messages are above. Run it again, then perdure dev.",
    );
}

// ── the service ──────────────────────────────────────────────────────────────────────────────────

/** Ports to check for services, without those of the own server and of other projects. */
function portsOf(
  { port, serverPorts, foreign }: Pick<DevSurroundings, "port" | "serverPorts" | "foreign">,
  server?: DevServer,
): readonly number[] {
  if (port !== undefined) return [port];
  const ours =
    server === undefined
      ? [serverPorts.ingress, serverPorts.admin]
      : [server.ingressUrl, server.adminUrl].map((url) => Number(new URL(url).port));
  return USUAL_PORTS.filter((usual) => !ours.includes(usual) && !foreign.includes(usual));
}

interface StartedApp extends Pick<StartCommand, "restartsOn"> {
  readonly app: App;
}

async function startApp(
  context: Context,
  report: DevReport,
  folder: string,
  options: DevSurroundings,
  ports: readonly number[],
): Promise<StartedApp | undefined> {
  const start = await whatToStart(context, report, folder, options, ports);
  if (start === undefined) return undefined;
  const { restartsOn } = start;
  const reload = restartsOn.length === 0 ? "" : "; it is restarted when a source file changes";
  report.say("starting", `Starting: ${startText(start)} (${start.because})${reload}`, { command: startText(start) });
  const app = new App(
    context,
    { command: start.command, args: start.args, cwd: folder, env: appEnvironment(context, options.appPort) },
    {
      line: (text) => report.line("app", text),
      ended: (how, again) => {
        const next =
          again !== undefined
            ? `It is started again in ${again / 1000} s.`
            : `Start it again by hand${restartsOn.length === 0 ? "" : ", change a file"}, or press Ctrl-C.`;
        report.bad("crashed", `The service: ${how}`, `${NOTHING_IS_LOST} ${next}`);
      },
    },
  );
  await startedOrAdvised(context, start.command, () => app.start());
  return { app, restartsOn };
}

function restartOnChange(context: Context, report: DevReport, folder: string, { app, restartsOn }: StartedApp): Promise<never> {
  return watchSources(context, folder, restartsOn, async (path) => {
    report.say("restarting", `${path} has changed: the service is restarted`, { path });
    await app.restart();
  });
}

async function startedOrAdvised<T>(context: Context, command: string, start: () => Promise<T>): Promise<T> {
  try {
    return await start();
  } catch (cause) {
    if (causeCode(cause) !== "ENOENT") throw cause;
    return context.fail(
      FAILED,
      `There is no program '${command}' here`,
      "Install it, or name another command: perdure dev -- <command>",
      cause,
    );
  }
}

async function whatToStart(
  context: Context,
  report: DevReport,
  folder: string,
  options: DevOptions,
  ports: readonly number[],
): Promise<StartCommand | undefined> {
  const [command, ...args] = options.command;
  if (command !== undefined) return startGiven(folder, command, args);
  if ((await findEndpoints(ports)).length > 0 || options.attachOnly) return undefined; // The service runs already.
  const start = startOf(folder);
  if (start === undefined) {
    const content = contentOf(folder);
    if (context.yes && content !== undefined)
      report.say(
        "not-written",
        `No service was written: this folder is not empty ('${content}'). In an empty folder: perdure dev --yes`,
        { content },
      );
    report.say(
      "waiting",
      `Start your service; perdure dev expects it at port ${ports.join(", ")}. Or: perdure dev -- <command that starts it>`,
      { ports },
    );
    return undefined;
  }
  if (start.isCertain || context.yes) return start;
  if (
    context.prompts.isInteractive &&
    (await context.prompts.confirm(`Start your service with '${startText(start)}' (${start.because})?`, "--yes"))
  )
    return start;
  report.say(
    "waiting",
    `Start your service, perhaps with: ${startText(start)}. perdure dev expects it at port ${ports.join(", ")}.`,
    { ports },
  );
  return undefined;
}

/** The bundled Node comes first in PATH: it runs TypeScript without a build. */
function appEnvironment({ output }: Context, port: number | undefined): NodeJS.ProcessEnv {
  const own = dirname(process.execPath);
  return {
    ...process.env,
    PATH: `${own}:${process.env["PATH"] ?? ""}`,
    ...(output.hasColour && process.env["FORCE_COLOR"] === undefined ? { FORCE_COLOR: "1" } : {}),
    ...(port === undefined ? {} : { PORT: String(port) }),
  };
}

// ── until the end ────────────────────────────────────────────────────────────────────────────────

async function serve(
  context: Context,
  report: DevReport,
  folder: string,
  options: DevSurroundings,
  server: DevServer,
  transport: NodeTransport,
  app: App | undefined,
): Promise<never> {
  const { adminUrl, ingressUrl } = server;
  const admin = new AdminClient({ baseUrl: adminUrl, userAgent: USER_AGENT, transport: transport.send });
  const events: EndpointEvents = {
    registered: (url, deployment, why) => {
      app?.served();
      report.registered(url, deployment, why, { ingressUrl, adminUrl });
    },
    refused: (url, error) => report.refused(url, error),
    gone: (url, why) => report.gone(url, why),
  };
  const urls = await firstEndpoints(context, report, folder, options, server);
  return await Promise.race(urls.map((url) => watchEndpoint(context, admin, url, events)));
}

/** Addresses of endpoints that serve handlers, as soon as there is one. */
async function firstEndpoints(
  context: Context,
  report: DevReport,
  folder: string,
  options: DevSurroundings,
  server: DevServer,
): Promise<readonly string[]> {
  const ports = portsOf(options, server);
  let isElsewhere = false;
  for (let attempt = 1; ; attempt++) {
    const endpoints = await findEndpoints(ports);
    if (endpoints.length > 0) return endpoints.map(({ url }) => url);
    if (options.port !== undefined && !isElsewhere && attempt % ELSEWHERE_PROBE_INTERVAL === 0)
      isElsewhere = await reportElsewhere(report, folder, options.port, portsOf({ ...options, port: undefined }, server));
    if (attempt === QUICK_PROBES_MAX) {
      report.say(
        "waiting",
        `No service responds at port ${ports.join(", ")} yet. If it listens at another one: perdure dev --port <port>`,
        { ports },
      );
    }
    await pause(context, attempt < QUICK_PROBES_MAX ? SEARCH_PAUSE_MS : SEARCH_PAUSE_MS * 5);
  }
}

const USUAL_PORTS_OF_SERVER = { ingress: "8080", admin: "9070" } as const;

/** Other commands may use another server. */
function sayHowToReach(context: Context, report: DevReport, { adminUrl, ingressUrl }: DevServer): void {
  const isUsual =
    new URL(adminUrl).port === USUAL_PORTS_OF_SERVER.admin && new URL(ingressUrl).port === USUAL_PORTS_OF_SERVER.ingress;
  if (!isUsual)
    return report.say("hint", `For other commands: export PERDURE_ADMIN_URL=${adminUrl} PERDURE_INGRESS_URL=${ingressUrl}`);
  const chosen = context.variables.find("PERDURE_ENVIRONMENT", "RESTATE_ENVIRONMENT")?.value ?? context.official.activeName();
  if (chosen === undefined || chosen === LOCAL) return;
  report.say("hint", `Other commands use the environment '${chosen}'; for this server add --env ${LOCAL}`);
}
