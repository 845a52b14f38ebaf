/**
 * Certificates for gRPC: each environment has an authority of its own, created once, and one certificate that its pods share; both are
 * renewed long before they expire, and the pods are replaced to use the new one. An authority is renewed with the same key, so that
 * processes with the old and the new certificate always accept each other.
 */
import { Secret } from "@perdure/base";
import { type EnvironmentResource, objectNameOf } from "@perdure/custom-resources";
import type { Cell } from "../cell.js";
import {
  type CertificateNames,
  endOf,
  isFor,
  issueCertificate,
  type KeyedCertificate,
  newAuthority,
  renewAuthority,
} from "../certificates.js";
import { GRPC_AUTHORITY, GRPC_TLS } from "../desired/trust.js";
import { AUTHORITY_RENEWAL_MS, CERTIFICATE_RENEWAL_MS } from "../limits.js";
import type { SecretData, SecretStore } from "./secret-store.js";

type AuthorityStore = Pick<SecretStore, "read" | "ensure" | "write">;

/** Hash input of pods: what they are given. Undefined where the cell does without. */
export async function ensureGrpcTls(
  environment: EnvironmentResource,
  cell: Cell,
  store: AuthorityStore,
  nowMs: number,
): Promise<SecretData | undefined> {
  if (!cell.grpcTls) return undefined;
  const authority = await ensureAuthority(environment, store, nowMs);
  const names = namesOf(environment, cell);
  const before = await store.read(GRPC_TLS);
  const certificate = before?.["tls.crt"];
  const isFresh =
    certificate !== undefined &&
    before?.["ca.crt"] === authority.certificate &&
    isFor(certificate, names) &&
    endOf(certificate) - nowMs > CERTIFICATE_RENEWAL_MS;
  if (isFresh) return before;
  const made = await issueCertificate(authority, names, nowMs);
  const data = { "ca.crt": authority.certificate, "tls.crt": made.certificate, "tls.key": made.privateKey.reveal() };
  await store.write(GRPC_TLS, data, { isOwned: true });
  return data;
}

/** Creates the authority in a Secret of its own, which no pod is given. */
async function ensureAuthority(
  environment: EnvironmentResource,
  store: AuthorityStore,
  nowMs: number,
): Promise<KeyedCertificate> {
  const name = `${environment.metadata.name} gRPC`;
  const authorityData = await store.ensure(GRPC_AUTHORITY, { isOwned: true }, async () =>
    dataOf(await newAuthority(name, nowMs)),
  );
  const authority = { certificate: authorityData["ca.crt"] ?? "", privateKey: new Secret(authorityData["ca.key"] ?? "") };
  if (endOf(authority.certificate) - nowMs > AUTHORITY_RENEWAL_MS) return authority;
  const renewed = await renewAuthority(name, authority, nowMs);
  await store.write(GRPC_AUTHORITY, dataOf(renewed), { isOwned: true });
  return renewed;
}

const dataOf = ({ certificate, privateKey }: KeyedCertificate): SecretData => ({
  "ca.crt": certificate,
  "ca.key": privateKey.reveal(),
});

/** All names that one process of the runtime calls another by; the containers of the front call each other on their own machine. */
function namesOf(environment: EnvironmentResource, { clusterDns }: Cell): CertificateNames {
  const services = `${objectNameOf(environment.spec.environmentId)}.svc.${clusterDns}`;
  const dns = [`worker-headless.${services}`, `*.worker-headless.${services}`, `registry.${services}`, "localhost"];
  return { dns, ip: ["127.0.0.1"] };
}
