/** The changes that a registration would make. */
import type { RegistrationView } from "@perdure/admin-client";
import { Badge, Loaded, Table, type TableColumn } from "../../kit/index.js";
import { useRequest } from "../request.js";
import { type ServiceChangeText, serviceChanges } from "./deployment-text.js";
import { VerificationNote } from "./verification-note.js";

const COLUMNS: readonly TableColumn<ServiceChangeText>[] = [
  { name: "Service", cell: ({ service }) => service },
  { name: "Change", cell: ({ what }) => (what === "new" ? <Badge tone="good">new</Badge> : what) },
  {
    name: "Handlers",
    cell: ({ added, removed, typeChange }) => (
      <>
        {typeChange !== undefined && <div>type {typeChange}</div>}
        {added.length > 0 && <div>added: {added.join(", ")}</div>}
        {removed.length > 0 && <div className="deployments__gone">removed: {removed.join(", ")}</div>}
        {added.length + removed.length === 0 && typeChange === undefined && <span className="quiet">unchanged</span>}
      </>
    ),
  },
];

export function Plan({ registration, isNew }: { readonly registration: RegistrationView; readonly isNew: boolean }) {
  const services = useRequest(["services"], ({ admin }, signal) => admin.services.list({ signal }));
  return (
    <section aria-label="Changes" className="stack stack--tight">
      <h3>Changes</h3>
      {!isNew && <p>This URL is already registered: its deployment stays the same or is replaced.</p>}
      <Loaded query={services}>
        {(now) => (
          <Table
            label="Services of this deployment"
            rows={serviceChanges(now, registration.services)}
            columns={COLUMNS}
            keyOf={({ service }) => service}
            empty={<p>It has no services.</p>}
          />
        )}
      </Loaded>
      {registration.verification !== undefined && <VerificationNote verification={registration.verification} />}
    </section>
  );
}
