/**
 * The part of the pod spec that this kubelet supports. It refuses everything else, so that no test passes because something was ignored.
 */
import type { MetadataOnly } from "@perdure/kubernetes";

interface Named {
  readonly name: string;
}

interface KeyOf extends Named {
  readonly key: string;
  readonly optional?: boolean;
}

export interface Variable extends Named {
  readonly value?: string;
  readonly valueFrom?: {
    readonly fieldRef?: { readonly fieldPath: string };
    readonly secretKeyRef?: KeyOf;
    readonly configMapKeyRef?: KeyOf;
  };
}

export interface Action {
  readonly httpGet?: { readonly path: string; readonly port: string | number };
  readonly exec?: { readonly command: readonly string[] };
}

export interface Probe extends Action {
  readonly initialDelaySeconds?: number;
  readonly periodSeconds?: number;
  readonly timeoutSeconds?: number;
  readonly failureThreshold?: number;
}

export interface ContainerSpec extends Named {
  readonly image: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly Variable[];
  readonly envFrom?: readonly { readonly configMapRef?: Named; readonly secretRef?: Named; readonly prefix?: string }[];
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
  readonly volumeMounts?: readonly (Named & { readonly mountPath: string; readonly subPath?: string })[];
  readonly startupProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly lifecycle?: { readonly preStop?: Action & { readonly sleep?: { readonly seconds: number } } };
}

interface Item {
  readonly key: string;
  readonly path: string;
}

export interface Volume extends Named {
  readonly secret?: { readonly secretName: string; readonly items?: readonly Item[]; readonly optional?: boolean };
  readonly configMap?: Named & { readonly items?: readonly Item[]; readonly optional?: boolean };
  readonly emptyDir?: object;
  readonly persistentVolumeClaim?: { readonly claimName: string };
}

export interface Pod extends MetadataOnly {
  readonly spec: {
    readonly nodeName?: string;
    readonly containers: readonly ContainerSpec[];
    readonly initContainers?: readonly ContainerSpec[];
    readonly volumes?: readonly Volume[];
    readonly terminationGracePeriodSeconds?: number;
    readonly restartPolicy?: string;
  };
  readonly status?: object;
}
