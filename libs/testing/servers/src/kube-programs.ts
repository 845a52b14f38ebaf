/** Operator and charts are tested against a real control plane; its three programs are compiled from their published modules. */
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { builtPrograms, type OnPackageBuilt } from "./go-programs.js";

/** The release that `kube-programs/go.mod` requires; programs report it to their clients. */
export const KUBERNETES_VERSION = "1.36.4";

/** Directory with the `go.mod` of all of them, and of kubectl. */
export const MODULES = join(dirname(fileURLToPath(import.meta.url)), "kube-programs");

export interface KubernetesPrograms {
  readonly etcd: string;
  readonly apiServer: string;
  readonly controllerManager: string;
}

let programs: Promise<KubernetesPrograms> | undefined;

/** The first call on a machine compiles for minutes, later ones use the result. */
export function kubernetesPrograms(onPackage?: OnPackageBuilt): Promise<KubernetesPrograms> {
  programs ??= (async () => {
    const [major, minor] = KUBERNETES_VERSION.split(".");
    const variables = { gitVersion: `v${KUBERNETES_VERSION}`, gitMajor: major, gitMinor: minor, gitTreeState: "clean" };
    const goPrograms = {
      name: `kubernetes-${KUBERNETES_VERSION}`,
      modules: MODULES,
      packages: [
        "k8s.io/kubernetes/cmd/kube-apiserver",
        "k8s.io/kubernetes/cmd/kube-controller-manager",
        "go.etcd.io/etcd/server/v3",
      ],
      linkerFlags: Object.entries(variables).map(([name, value]) => `-X=k8s.io/component-base/version.${name}=${value}`),
    };
    const directory = await builtPrograms(goPrograms, onPackage);
    return {
      etcd: join(directory, "server"),
      apiServer: join(directory, "kube-apiserver"),
      controllerManager: join(directory, "kube-controller-manager"),
    };
  })();
  return programs;
}
