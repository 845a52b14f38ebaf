/**
 * Trusted certificate authorities of an environment's processes, as mounted into pods: the environment's own, and those that its owner adds
 * to the system's.
 */
import type { EnvironmentResource } from "@perdure/custom-resources";
import type { Cell } from "../cell.js";
import { type EnvVariable, setting } from "./pods.js";

export const GRPC_TLS = "grpc-tls";
/** The authority's own key; no pod is given it. */
export const GRPC_AUTHORITY = "grpc-authority";
export const TRUSTED_CAS = "trusted-cas";
export const BUNDLE = "bundle.pem";
const TLS_PATH = "/var/run/perdure/tls";
const CAS_PATH = "/var/run/perdure/trusted-cas";

const hasCas = ({ spec }: EnvironmentResource): boolean => (spec.security.trustedCAs ?? []).length > 0;

export function trustVariables(environment: EnvironmentResource, { grpcTls }: Cell): readonly EnvVariable[] {
  const tls = [
    setting("tls.authority-file", `${TLS_PATH}/ca.crt`),
    setting("tls.certificate-file", `${TLS_PATH}/tls.crt`),
    setting("tls.private-key-file", `${TLS_PATH}/tls.key`),
  ];
  const cas: EnvVariable = { name: "NODE_EXTRA_CA_CERTS", value: `${CAS_PATH}/${BUNDLE}` };
  return [...(grpcTls ? tls : []), ...(hasCas(environment) ? [cas] : [])];
}

/**
 * TLS variables of processes that serve gRPC. Without certificates only network policies protect these ports, and the processes require an
 * explicit setting for that.
 */
export function grpcVariables({ grpcTls }: Cell): readonly EnvVariable[] {
  return grpcTls ? [] : [setting("grpc.allow-cleartext", "true")];
}

export function trustMounts(environment: EnvironmentResource, { grpcTls }: Cell): readonly Readonly<Record<string, unknown>>[] {
  return [
    ...(grpcTls ? [{ name: "tls", mountPath: TLS_PATH, readOnly: true }] : []),
    ...(hasCas(environment) ? [{ name: "trusted-cas", mountPath: CAS_PATH, readOnly: true }] : []),
  ];
}

export function trustVolumes(environment: EnvironmentResource, { grpcTls }: Cell): readonly Readonly<Record<string, unknown>>[] {
  const tls = { name: "tls", secret: { secretName: GRPC_TLS, defaultMode: 0o440 } };
  const cas = { name: "trusted-cas", secret: { secretName: TRUSTED_CAS, defaultMode: 0o440 } };
  return [...(grpcTls ? [tls] : []), ...(hasCas(environment) ? [cas] : [])];
}
