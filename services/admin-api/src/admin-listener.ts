/** Opens the listener of the management API. */
import { createHttpPort, type RequestGuard } from "@perdure/http-server";
import { type BoundListener, isBeyondLoopback, openListener } from "@perdure/process-kit/http";
import { createAdminApi } from "./admin-api.js";
import type { AdminSettings } from "./config.js";
import { CONSOLE_DIRECTORY } from "./console/directory.js";
import { openAdminConsole } from "./console/serve.js";
import { browserGuard, guardsInTurn } from "./http/browser-guard.js";
import { ADMIN_DRAIN_MS } from "./limits.js";
import type { AdminOptions, AdminPorts } from "./ports.js";

interface AdminListenerParts {
  /** Runs before the guard against requests from web pages of other origins. */
  readonly guard?: RequestGuard | undefined;
  /** Whether operators can open the console, if the settings allow it; false where only a gateway may connect. */
  readonly showsConsole?: boolean | undefined;
}

/** The API has no authentication: every client that reaches this port can read all data and run code of services. */
const OPEN_TO_OTHERS =
  "the management API listens beyond this machine and requires no credential: let only trusted machines reach its port, or set admin.bind-address to 127.0.0.1";

/** Rejects with RT0004 when the address cannot be bound. */
export async function openAdminListener(
  settings: AdminSettings,
  ports: AdminPorts,
  options: AdminOptions,
  { guard, showsConsole = true }: AdminListenerParts = {},
): Promise<BoundListener> {
  const { clock, logger } = ports;
  if (showsConsole && isBeyondLoopback(settings)) logger.warn({ address: settings.bindAddress }, OPEN_TO_OTHERS);
  const isShown = showsConsole && !settings.disableWebUi;
  const console = isShown ? await openAdminConsole(CONSOLE_DIRECTORY, logger) : undefined;
  const request = createAdminApi({ ...ports, console }, { ...options, traceUrl: settings.traceUrl });
  const port = createHttpPort(
    { request },
    { clock, logger },
    {
      guard: guardsInTurn([guard, browserGuard(settings)]),
      errorForm: (_code, message) => ({ body: { message, restate_code: null } }),
    },
  );
  return openListener(
    settings,
    (address) => port.listen(address),
    () => port.close(ADMIN_DRAIN_MS),
  );
}
