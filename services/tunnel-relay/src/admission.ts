/**
 * Decides which clients may open a tunnel. The wire carries only a status; the precise reason goes to the log of the environment (cloud.md
 * §2.3).
 */
import { PerdureError, type Random, Secret, type SummaryLog } from "@perdure/base";
import { type AuthenticatedCaller, bareOf, mayCaller, parseEnvironmentId, randomBase62, type Tenancy } from "@perdure/cloud";
import { isTunnelName, type TunnelHello } from "@perdure/tunnel";
import type { ConnectionFacts } from "./connection.js";
import type { RelayEnvironments } from "./environments.js";
import type { HandshakeDecision } from "./handshake.js";
import type { RelayOptions, RelayPorts } from "./ports.js";
import type { OpenTunnels } from "./tunnels.js";

const TUNNEL_ACCESS = { endpoint: "tunnel", method: "", path: "" } as const;
const NAME_CHARS = 12;
const ID_CHARS = 16;
/** Characters in logs of a tunnel name that a client chose. */
const NAME_CHARS_SHOWN = 64;

type RefusedStatus = "unauthorized" | "bad-tunnel-name" | "too-many-tunnels";

interface AdmissionParts {
  readonly tenancy: Tenancy;
  readonly environments: RelayEnvironments;
  readonly tunnels: OpenTunnels;
  readonly failures: SummaryLog;
}

export class TunnelAdmission {
  readonly #parts: AdmissionParts;
  readonly #ports: Pick<RelayPorts, "logger" | "random">;
  readonly #options: Pick<RelayOptions, "regions" | "proxyUrl" | "tunnelUrl">;

  constructor(parts: AdmissionParts, ports: Pick<RelayPorts, "logger" | "random">, options: RelayOptions) {
    this.#parts = parts;
    this.#ports = ports;
    this.#options = options;
  }

  /** Never rejects. An accepted client holds a reservation in `OpenTunnels`, which the caller releases when the handshake is over. */
  async decide(hello: TunnelHello | undefined): Promise<HandshakeDecision<ConnectionFacts>> {
    try {
      return await this.#decide(hello);
    } catch (cause) {
      const { code, message } = PerdureError.from(cause);
      const fields = { code, cause: message };
      this.#parts.failures.warn(
        this.#ports.logger,
        { service: "tunnel-relay", code },
        fields,
        "a tunnel could not be authenticated; the client will retry",
      );
      return { kind: "later" };
    }
  }

  async #decide(hello: TunnelHello | undefined): Promise<HandshakeDecision<ConnectionFacts>> {
    const { tenancy, environments, tunnels } = this.#parts;
    const id = parseEnvironmentId(hello?.environmentId ?? "");
    if (hello === undefined || id === undefined) return this.#refuse("unauthorized", hello, "no credential or no environment");
    const environment = await environments.find(bareOf(id));
    if (environment === "unknown") return this.#refuse("unauthorized", hello, "no such environment");
    const { facts } = environment;
    const refuse = (status: RefusedStatus, reason: string, caller?: AuthenticatedCaller): HandshakeDecision<ConnectionFacts> => {
      const name = hello.name?.slice(0, NAME_CHARS_SHOWN);
      const about = {
        environmentId: id,
        name,
        reason,
        caller: caller === undefined ? undefined : { kind: caller.kind, id: caller.id },
      };
      return { ...this.#refuse(status, hello, reason), about };
    };
    if (facts.status !== "ACTIVE") return refuse("unauthorized", `the environment is ${facts.status}`);
    if (!this.#options.regions.includes(facts.region)) return refuse("unauthorized", `the environment is in ${facts.region}`);
    const authentication = await tenancy.authenticate(hello.credential, id);
    if (authentication.kind !== "caller") return refuse("unauthorized", `the credential is ${authentication.kind}`);
    if (!mayCaller(authentication.caller, TUNNEL_ACCESS))
      return refuse("unauthorized", `${authentication.caller.role} opens no tunnels`, authentication.caller);
    const name = hello.name ?? `t-${randomBase62(NAME_CHARS, this.#ports.random)}`;
    if (!isTunnelName(name))
      return refuse("bad-tunnel-name", "the name has other characters, or too many", authentication.caller);
    if (!tunnels.reserve(facts, name)) return refuse("too-many-tunnels", "the plan allows no more", authentication.caller);
    const { proxyUrl, tunnelUrl } = this.#options;
    return {
      kind: "welcome",
      welcome: { status: "ok", name, proxyUrl: `${proxyUrl}/${bareOf(id)}/${name}`, tunnelUrl },
      facts: {
        environmentId: id,
        name,
        id: connectionIdOf(hello.connectionId, this.#ports.random),
        credential: new Secret(hello.credential),
        caller: authentication.caller,
        supportsDrain: hello.supportsDrain,
        supportsClientDrain: hello.supportsClientDrain,
        workerId: hello.workerId,
        client: hello.client,
        ports: hello.ports,
        signingPublicKey: facts.signingPublicKeys[0],
      },
    };
  }

  #refuse(
    status: RefusedStatus,
    hello: TunnelHello | undefined,
    reason: string,
  ): Extract<HandshakeDecision<ConnectionFacts>, { kind: "refused" }> {
    const environmentId = hello?.environmentId.slice(0, 40);
    this.#ports.logger.info(
      { environmentId, tunnel: hello?.name?.slice(0, NAME_CHARS_SHOWN), status, reason },
      "a tunnel is refused",
    );
    return { kind: "refused", welcome: { status } };
  }
}

/** An id that is unique on this relay: random characters, then the id that the client sent, because clients may send duplicates. */
function connectionIdOf(requestedId: string | undefined, random: Random): string {
  const own = randomBase62(ID_CHARS, random);
  return requestedId === undefined || !/^[A-Za-z0-9._:-]{1,64}$/.test(requestedId) ? own : `${own}.${requestedId}`;
}
