/** The role and the schema of an environment have one name, derived from its id alone, so that every reconciliation finds them again. */
import { PerdureError, Secret } from "@perdure/base";

const PREFIX = "perdure_";
const ENVIRONMENT_ID = /^env_[a-z0-9]{8,40}$/;
/** Pattern of the role names of environments, for LIKE. */
export const ROLE_PATTERN = "perdure\\_env\\_%";

/**
 * Name of its role and its schema: a plain identifier of at most 52 bytes. Throws OPS0007 when the text is not the id of an environment.
 */
export function environmentRole(environmentId: string): string {
  if (!ENVIRONMENT_ID.test(environmentId)) throw refused("the id of the environment cannot be the name of a role");
  return `${PREFIX}${environmentId}`;
}

/** The platform's URL with the environment's role instead of the platform's. Throws OPS0007 when it is not a URL of a PostgreSQL. */
export function environmentUrl(platformUrl: Secret, environmentId: string, password: Secret): Secret {
  const url = parsed(platformUrl);
  if (url === undefined) throw refused("its Secret holds no URL like postgres://user:password@host:5432/database");
  url.username = environmentRole(environmentId);
  url.password = encodeURIComponent(password.reveal());
  // Parameters of the URL would override the user and password in front of the host.
  for (const parameter of ["user", "password", "options"]) url.searchParams.delete(parameter);
  return new Secret(url.href);
}

/** Whether a URL is one of the environment's own role. */
export function isEnvironmentUrl(url: Secret, environmentId: string): boolean {
  return parsed(url)?.username === environmentRole(environmentId);
}

export function refused(reason: string, cause?: unknown): PerdureError {
  return new PerdureError("OPS0007", reason, { cause });
}

function parsed(url: Secret): URL | undefined {
  if (!URL.canParse(url.reveal())) return undefined;
  const result = new URL(url.reveal());
  return /^postgres(ql)?:$/.test(result.protocol) && result.hostname !== "" ? result : undefined;
}
