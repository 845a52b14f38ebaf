/** Why: the management API as a door that a process opens. */
import { createHttpPort, type Door, type DoorSettings, openDoor } from "@perdure/role/http";
import { createAdminApi } from "./admin-api.js";
import { ADMIN_DRAIN_MS } from "./limits.js";
import type { AdminOptions, AdminPorts } from "./ports.js";

/** Rejects with RT0004 when the address cannot be bound. */
export function openAdminDoor(settings: DoorSettings, ports: AdminPorts, options: AdminOptions): Promise<Door> {
  const request = createAdminApi(ports, options);
  const port = createHttpPort({ request }, { clock: ports.clock, logger: ports.logger });
  return openDoor(settings, port.listen, () => port.close(ADMIN_DRAIN_MS));
}
