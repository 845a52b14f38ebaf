/** Keys are the credentials of programs: created with the least role that they need, shown once, revoked when in doubt. */
import { useState } from "react";
import { Badge, Button, Confirmation, Loaded, Moment, ProblemNote, Section, Table, useNow } from "../../kit/index.js";
import { useAccount, useForbidden } from "../account/account.js";
import { useCachedMembers } from "../account/member-names.js";
import type { ApiKeyFacts } from "../cloud-api.js";
import { forbiddenFor } from "../roles.js";
import { useSession } from "../session/session-gate.js";
import { useCloudChange, useCloudRequest } from "../use-cloud.js";
import { CreateKey } from "./create-key.js";
import { useFacts } from "./facts.js";
import { KEY_ROLE_LABELS, makerText } from "./key-texts.js";

export function ApiKeys() {
  const { accountId } = useAccount();
  const { environmentId, status } = useFacts();
  const keys = useCloudRequest(["keys", environmentId], (api, signal) =>
    api.account(accountId, "ListApiKeys", { environmentId }, signal),
  );
  const [isCreating, setCreating] = useState(false);
  const [revoking, setRevoking] = useState<ApiKeyFacts>();
  const mayNotCreate = useForbidden("ownKeys") ?? (status === "DELETING" ? "The environment is being deleted" : undefined);
  const revoke = useCloudChange(
    (api, { keyId }: ApiKeyFacts) => api.account(accountId, "DeleteApiKey", { environmentId, keyId }),
    { done: () => "The API key is revoked", onDone: () => setRevoking(undefined) },
  );
  return (
    <Section
      title="API keys"
      actions={
        <Button appearance="primary" forbidden={mayNotCreate} onClick={() => setCreating(true)}>
          Create API key
        </Button>
      }
    >
      <Loaded query={keys}>{({ apiKeys }) => <KeyTable apiKeys={apiKeys} onRevoke={setRevoking} />}</Loaded>
      {isCreating && <CreateKey onClose={() => setCreating(false)} />}
      <Confirmation
        title="Revoke API key"
        isOpen={revoking !== undefined}
        onClose={() => setRevoking(undefined)}
        verb="Revoke"
        isBusy={revoke.isPending}
        problem={revoke.isError && <ProblemNote cause={revoke.error} />}
        onConfirm={() => revoking !== undefined && revoke.mutate(revoking)}
      >
        <p>
          <strong>{revoking?.description ?? revoking?.keyId}</strong> stops working within seconds, for good; tunnels that were
          opened with it close. Invocations that were started with it continue.
        </p>
      </Confirmation>
    </Section>
  );
}

interface KeyTableProps {
  readonly apiKeys: readonly ApiKeyFacts[];
  readonly onRevoke: (key: ApiKeyFacts) => void;
}

function KeyTable({ apiKeys, onRevoke }: KeyTableProps) {
  const { role } = useAccount();
  const { user } = useSession();
  const members = useCachedMembers();
  /** A user who may create keys may revoke their own. */
  const mayNotRevoke = ({ createdBy }: ApiKeyFacts) =>
    createdBy === user.userId ? forbiddenFor(role, "ownKeys") : forbiddenFor(role, "keys");
  return (
    <Table
      label="API keys"
      rows={apiKeys}
      keyOf={({ keyId }) => keyId}
      empty={
        <div className="card">
          <p>No API keys yet. Programs send one with each request; users and command lines log in instead.</p>
        </div>
      }
      columns={[
        {
          name: "Key",
          cell: ({ keyId, description }) => (
            <>
              <div>{description ?? <span className="quiet">no description</span>}</div>
              <code className="small quiet">{keyId}</code>
            </>
          ),
        },
        {
          name: "Permissions",
          cell: ({ roleId, ratePerSecond }) => (
            <>
              <span title={KEY_ROLE_LABELS[roleId].opens}>{KEY_ROLE_LABELS[roleId].name}</span>
              {ratePerSecond !== undefined && <div className="quiet small">{ratePerSecond} requests/s</div>}
            </>
          ),
        },
        {
          name: "Created",
          cell: ({ createdAt, createdBy }) => (
            <>
              <Moment at={createdAt * 1_000} />
              <div className="quiet small">{makerText(createdBy, user.userId, members)}</div>
            </>
          ),
        },
        { name: "Last used", cell: ({ lastUsedAt }) => <LastUsed at={lastUsedAt} /> },
        { name: "Expires", cell: ({ expiresAt: at }) => <Expires at={at} /> },
        {
          name: "Actions",
          isNameHidden: true,
          cell: (key) => (
            <Button
              isSmall
              isDanger
              aria-label={`Revoke ${key.description ?? key.keyId}`}
              forbidden={mayNotRevoke(key)}
              onClick={() => onRevoke(key)}
            >
              Revoke
            </Button>
          ),
        },
      ]}
    />
  );
}

function LastUsed({ at }: { readonly at: number | undefined }) {
  return at === undefined ? <span className="quiet">never</span> : <Moment at={at * 1_000} />;
}

const SOON_MS = 7 * 86_400_000;

function Expires({ at }: { readonly at: number | undefined }) {
  const nowMs = useNow();
  if (at === undefined) return <span className="quiet">never</span>;
  const left = at * 1_000 - nowMs;
  if (left <= 0) return <Badge tone="bad">expired</Badge>;
  return (
    <>
      <Moment at={at * 1_000} /> {left < SOON_MS && <Badge tone="warn">soon</Badge>}
    </>
  );
}
