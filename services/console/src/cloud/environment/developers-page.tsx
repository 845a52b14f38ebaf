/** Everything that is needed to reach an environment from elsewhere, on one page: addresses, keys, signing keys, snippets, tunnels. */
import { Copyable, Facts, Page, Section } from "../../kit/index.js";
import { ApiKeys } from "./api-keys.js";
import { useFacts } from "./facts.js";
import { SigningKeys } from "./signing-keys.js";
import { Snippets } from "./snippet-section.js";
import { Tunnels } from "./tunnels.js";

export default function DevelopersPage() {
  const { name, environmentId, region, ingressBaseUrl, adminBaseUrl } = useFacts();
  return (
    <Page title="Developers" lead={`How programs, command lines and services reach ${name}.`}>
      <Section title="Addresses">
        <div className="card">
          <Facts
            facts={[
              ["Ingress URL: calls to handlers", <Copyable key="i" text={ingressBaseUrl} label="the ingress URL" />],
              ["Admin URL: deployments, SQL", <Copyable key="a" text={adminBaseUrl} label="the admin URL" />],
              ["Environment id", <Copyable key="e" text={environmentId} label="the environment id" />],
              ["Region", region],
            ]}
          />
        </div>
      </Section>
      <ApiKeys />
      <Snippets />
      <SigningKeys />
      <Tunnels />
    </Page>
  );
}
