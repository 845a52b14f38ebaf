/** Ports of the parts of tenancy that read and write sealed data. */
import type { Clock, Logger, Random } from "@perdure/base";
import type { TenancyDatabase } from "@perdure/postgres";
import type { KeyRing } from "./key-ring.js";

export interface CredentialPorts {
  readonly database: TenancyDatabase;
  readonly ring: KeyRing;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}
