/**
 * Names of our objects, labels and annotations in a cluster (kubernetes.md §0 D2, §2). An id has an underscore, which names of objects and
 * hosts must not have.
 */
export const API_GROUP = "perdure.dev";
export const API_VERSION = "v1alpha1";
export const GROUP_VERSION = `${API_GROUP}/${API_VERSION}`;

/** Label of everything that belongs to an environment. Its value is the environment's id without `env_`. */
export const ENVIRONMENT_LABEL = `${API_GROUP}/environment`;

/** `env_2abc…` → `env-2abc…`: name of its object and of its namespace. */
export function objectNameOf(environmentId: string): string {
  return `env-${bareIdOf(environmentId)}`;
}

/** `env_2abc…` → `2abc…`: label of its host. */
export function bareIdOf(environmentId: string): string {
  return environmentId.slice("env_".length);
}
