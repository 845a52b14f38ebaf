/** Why: the management API as a door that a process opens. */
import { type BoundListener, createHttpPort, isBeyondLoopback, openListener, type RequestGuard } from "@perdure/role/http";
import { createAdminApi } from "./admin-api.js";
import type { AdminSettings } from "./config.js";
import { CONSOLE_DIRECTORY } from "./console/directory.js";
import { openAdminConsole } from "./console/serve.js";
import { browserGuard, guardsInTurn } from "./http/browser-guard.js";
import { ADMIN_DRAIN_MS } from "./limits.js";
import type { AdminOptions, AdminPorts } from "./ports.js";

export interface AdminListenerParts {
  /** Asked before the guard against strangers' web pages. */
  readonly guard?: RequestGuard | undefined;
  /** Whether somebody could look at the console, if the settings let them: not where only a gateway may ask. */
  readonly showsConsole?: boolean | undefined;
}

/** Nobody is asked for a credential here, and whoever reaches this port may read all data and run code of services. */
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
  return openListener(settings, port.listen, () => port.close(ADMIN_DRAIN_MS));
}
