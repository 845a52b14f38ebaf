/** Shows whether a developer's tunnel is connected, and which other clients use its name. */
import { Loaded, Moment, Section, Snippet, Table } from "../../kit/index.js";
import { useAccount } from "../account/account.js";
import type { CloudResponse } from "../cloud-api.js";
import { useCloudRequest } from "../use-cloud.js";
import { useFacts } from "./facts.js";
import { tunnelCommands } from "./snippets.js";

/** Relays report their connections about as often. */
const POLL_MS = 5_000;

type TunnelSummary = CloudResponse<"ListTunnels">["tunnels"][number];
type TunnelConnectionRow = TunnelSummary["connections"][number] & { readonly tunnel: string };

export function Tunnels() {
  const { accountId } = useAccount();
  const facts = useFacts();
  const { environmentId } = facts;
  const tunnels = useCloudRequest(
    ["tunnels", environmentId],
    (api, signal) => api.account(accountId, "ListTunnels", { environmentId }, signal),
    { everyMs: POLL_MS },
  );
  return (
    <Section title="Tunnels">
      <p className="quiet">
        A tunnel is opened from where your service runs; no public port is needed. Connections of the same name share the load.
      </p>
      <Loaded query={tunnels}>
        {({ tunnels: all }) => (
          <Table<TunnelConnectionRow>
            label="Connections of tunnels"
            rows={all.flatMap(({ name, connections }) => connections.map((one) => ({ ...one, tunnel: name })))}
            keyOf={({ tunnel, server, id }) => `${tunnel}/${server}/${id}`}
            empty={
              <div className="card">
                <p>No tunnel is connected. Start one where your service runs:</p>
              </div>
            }
            columns={[
              { name: "Tunnel", cell: ({ tunnel }) => <strong>{tunnel}</strong> },
              { name: "Ports", cell: ({ ports }) => ports?.join(", ") ?? "any" },
              { name: "Connected", cell: ({ connectedAt }) => <Moment at={connectedAt * 1_000} /> },
              { name: "In flight", isNumber: true, cell: ({ inFlight }) => inFlight },
              {
                name: "Client",
                cell: ({ clientVersion, workerId }) => [clientVersion, workerId].filter(Boolean).join(" · ") || "–",
              },
              { name: "Relay", cell: ({ server }) => <code className="small">{server}</code> },
            ]}
          />
        )}
      </Loaded>
      <Snippet label="commands that start a tunnel" text={tunnelCommands(facts)} />
    </Section>
  );
}
