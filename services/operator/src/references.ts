/**
 * Index from referenced objects to the objects that refer to them, so that a change is reconciled at once without a search of all objects.
 */
import { objectNameOf, type ServiceDeployment } from "@perdure/custom-resources";
import { keyOf, type ObjectCache } from "@perdure/kubernetes";

/** Keys of services by the names of the environments, here or hosted, that they are registered at. */
export class ServiceReferences {
  readonly #byTarget = new Map<string, Set<string>>();
  readonly #targetOf = new Map<string, string>();

  constructor(deployments: Pick<ObjectCache<ServiceDeployment>, "onChange">) {
    deployments.onChange((deployment, change) => {
      const key = keyOf(deployment.metadata.name, deployment.metadata.namespace);
      this.#discard(key);
      if (change !== "deleted") this.#note(key, targetKeyOf(deployment));
    });
  }

  toEnvironment(name: string): Iterable<string> {
    return this.#byTarget.get(`environment ${name}`) ?? [];
  }

  toCloudEnvironment(name: string): Iterable<string> {
    return this.#byTarget.get(`cloud ${name}`) ?? [];
  }

  #note(key: string, target: string | undefined): void {
    if (target === undefined) return;
    this.#targetOf.set(key, target);
    const keys = this.#byTarget.get(target);
    if (keys === undefined) this.#byTarget.set(target, new Set([key]));
    else keys.add(key);
  }

  #discard(key: string): void {
    const target = this.#targetOf.get(key);
    if (target === undefined) return;
    this.#targetOf.delete(key);
    const keys = this.#byTarget.get(target);
    keys?.delete(key);
    if (keys?.size === 0) this.#byTarget.delete(target);
  }
}

function targetKeyOf({ spec }: ServiceDeployment): string | undefined {
  const { environment, cloudEnvironment } = spec.perdure.register;
  if (environment !== undefined) return `environment ${objectNameOf(environment)}`;
  return cloudEnvironment === undefined ? undefined : `cloud ${cloudEnvironment}`;
}
