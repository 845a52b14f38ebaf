/** Members of an account and their roles; invite and remove members. */
import { type MemberRole, memberRoles } from "@perdure/cloud";
import { type FormEvent, useState } from "react";
import { useLocation } from "wouter";
import {
  Badge,
  Button,
  ChoiceField,
  Confirmation,
  Dialog,
  DialogActions,
  Loaded,
  Moment,
  Page,
  ProblemNote,
  Section,
  Snippet,
  Table,
  TextField,
} from "../../kit/index.js";
import type { CloudResponse } from "../cloud-api.js";
import { forbiddenFor, forbiddenToChange, ROLE_LABELS } from "../roles.js";
import { useSession } from "../session/session-gate.js";
import { useCloudChange, useCloudRequest } from "../use-cloud.js";
import { useAccount, useForbidden } from "./account.js";

type AccountMember = CloudResponse<"ListMembers">["members"][number];
type Invitation = CloudResponse<"ListMembers">["invitations"][number];

/** `Owner · everything …`: label of the choice. */
const ROLE_CHOICES = memberRoles.map((value) => ({ value, label: `${value} · ${ROLE_LABELS[value]}` }));

export default function MembersPage() {
  const { role } = useAccount();
  const forbiddenReason = forbiddenFor(role, "view");
  if (forbiddenReason === undefined) return <Members />;
  return (
    <Page title="Members">
      <p className="note">{forbiddenReason}</p>
    </Page>
  );
}

function Members() {
  const { accountId, name } = useAccount();
  const members = useCloudRequest(["members", accountId], (api, signal) => api.account(accountId, "ListMembers", {}, signal));
  const [isInviting, setInviting] = useState(false);
  const forbidden = useForbidden("members");
  return (
    <Page
      title="Members"
      lead={`Members of ${name} and their roles.`}
      actions={
        <Button appearance="primary" forbidden={forbidden} onClick={() => setInviting(true)}>
          Invite member
        </Button>
      }
    >
      <Loaded query={members}>
        {({ members: all, invitations }) => (
          <>
            <MemberTable all={all} />
            <Section title="Open invitations">
              <Invitations all={invitations} />
            </Section>
          </>
        )}
      </Loaded>
      <Dialog title="Invite member" isOpen={isInviting} onClose={() => setInviting(false)}>
        {isInviting && <Invite onClose={() => setInviting(false)} />}
      </Dialog>
    </Page>
  );
}

/** `2026-11-27`: a day in UTC. */
const dayText = (unixSeconds: number): string => new Date(unixSeconds * 1_000).toISOString().slice(0, 10);

function MemberTable({ all }: { readonly all: readonly AccountMember[] }) {
  const { accountId, name } = useAccount();
  const { user } = useSession();
  const [, go] = useLocation();
  const [changing, setChanging] = useState<AccountMember>();
  const [removing, setRemoving] = useState<AccountMember>();
  const [keepApiKeys, setKeepApiKeys] = useState(false);
  const remove = useCloudChange(
    (api, { userId }: AccountMember) => api.account(accountId, "RemoveMember", { userId, keepApiKeys }),
    {
      done: (_, { userId, email }) => (userId === user.userId ? `You have left ${name}` : `${email} is removed`),
      onDone: (_, { userId }) => (userId === user.userId ? go("~/accounts") : setRemoving(undefined)),
    },
  );
  const isLastOwner = (one: AccountMember) => one.role === "owner" && all.filter((other) => other.role === "owner").length === 1;
  const lastOwner = "An account needs an owner: make another member owner first.";
  return (
    <>
      <Table
        label="Members"
        rows={all}
        keyOf={({ userId }) => userId}
        columns={[
          {
            name: "Who",
            cell: ({ userId, email, name: called }) => (
              <>
                <div>
                  {called ?? email} {userId === user.userId && <Badge tone="info">you</Badge>}
                </div>
                {called !== undefined && <div className="quiet small">{email}</div>}
              </>
            ),
          },
          { name: "Role", cell: ({ role: one }) => <RoleText role={one} /> },
          { name: "Since", cell: ({ since }) => <Moment at={since * 1_000} /> },
          {
            name: "Last active",
            cell: ({ lastActiveAt }) =>
              lastActiveAt === undefined ? (
                <span className="quiet">–</span>
              ) : (
                <time dateTime={dayText(lastActiveAt)}>{dayText(lastActiveAt)}</time>
              ),
          },
          {
            name: "Actions",
            isNameHidden: true,
            cell: (one) => (
              <MemberActions
                member={one}
                obstacle={isLastOwner(one) ? lastOwner : undefined}
                onChange={setChanging}
                onRemove={setRemoving}
              />
            ),
          },
        ]}
      />
      <Dialog
        title={`Role of ${changing?.name ?? changing?.email ?? "a member"}`}
        isOpen={changing !== undefined}
        onClose={() => setChanging(undefined)}
      >
        {changing !== undefined && <ChangeRole member={changing} onClose={() => setChanging(undefined)} />}
      </Dialog>
      <Confirmation
        title={removing?.userId === user.userId ? `Leave ${name}` : "Remove a member"}
        isOpen={removing !== undefined}
        onClose={() => setRemoving(undefined)}
        verb={removing?.userId === user.userId ? "Leave" : "Remove"}
        isBusy={remove.isPending}
        problem={remove.isError && <ProblemNote cause={remove.error} />}
        onConfirm={() => removing !== undefined && remove.mutate(removing)}
      >
        <p>
          {removing?.userId === user.userId
            ? "You lose access to the account until you are invited again."
            : `${removing?.email} loses access within seconds.`}
        </p>
        {removing !== undefined && (
          <TheirKeys
            of={{ name: "RemoveMember", request: { userId: removing.userId } }}
            isKept={keepApiKeys}
            onChange={setKeepApiKeys}
          />
        )}
      </Confirmation>
    </>
  );
}

interface MemberActionsProps {
  readonly member: AccountMember;
  /** Why the member must stay as it is; undefined when nothing prevents a change. */
  readonly obstacle: string | undefined;
  readonly onChange: (member: AccountMember) => void;
  readonly onRemove: (member: AccountMember) => void;
}

function MemberActions({ member, obstacle, onChange, onRemove }: MemberActionsProps) {
  const { role } = useAccount();
  const { user } = useSession();
  const isSelf = member.userId === user.userId;
  const mayNotChange = forbiddenToChange(role, member.role) ?? obstacle;
  return (
    <div className="row">
      <Button isSmall aria-label={`Change the role of ${member.email}`} forbidden={mayNotChange} onClick={() => onChange(member)}>
        Role …
      </Button>
      <Button
        isSmall
        isDanger
        aria-label={isSelf ? "Leave account" : `Remove ${member.email}`}
        // Every member of an account may leave it.
        forbidden={isSelf ? obstacle : mayNotChange}
        onClick={() => onRemove(member)}
      >
        {isSelf ? "Leave" : "Remove"}
      </Button>
    </div>
  );
}

/** The API keys that this would delete, and whether to keep them. */
function TheirKeys({
  of: { name, request },
  isKept,
  onChange,
}: {
  readonly of:
    | { readonly name: "RemoveMember"; readonly request: { readonly userId: AccountMember["userId"] } }
    | {
        readonly name: "UpdateMember";
        readonly request: { readonly userId: AccountMember["userId"]; readonly role: MemberRole };
      };
  readonly isKept: boolean;
  readonly onChange: (isKept: boolean) => void;
}) {
  const { accountId } = useAccount();
  const keys = useCloudRequest(["member-keys", accountId, name, request], (api, signal) =>
    name === "RemoveMember"
      ? api.account(accountId, name, { ...request, dryRun: true }, signal)
      : api.account(accountId, name, { ...request, dryRun: true }, signal),
  );
  const made = keys.data?.apiKeys ?? [];
  if (made.length === 0) return null;
  return (
    <>
      <p>
        API keys created by this member: <strong>{made.map(({ keyId, description }) => description ?? keyId).join(", ")}</strong>
      </p>
      <label className="row">
        <input type="checkbox" checked={isKept} onChange={(event) => onChange(event.target.checked)} />
        Keep these keys; otherwise they are deleted
      </label>
    </>
  );
}

function RoleText({ role }: { readonly role: MemberRole }) {
  return (
    <>
      <div>{role}</div>
      <div className="quiet small">{ROLE_LABELS[role]}</div>
    </>
  );
}

function ChangeRole({ member, onClose }: { readonly member: AccountMember; readonly onClose: () => void }) {
  const { accountId, role: own } = useAccount();
  const [role, setRole] = useState<MemberRole>(member.role);
  const [keepApiKeys, setKeepApiKeys] = useState(false);
  const change = useCloudChange((api) => api.account(accountId, "UpdateMember", { userId: member.userId, role, keepApiKeys }), {
    done: () => `${member.email} is ${role} now`,
    onDone: onClose,
  });
  const lacking = role === member.role ? "Choose another role first" : forbiddenToChange(own, role);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (lacking === undefined && !change.isPending) change.mutate();
  };
  return (
    <form className="stack" onSubmit={submit}>
      <ChoiceField label="Role" value={role} choices={ROLE_CHOICES} onChange={setRole} hint="Takes effect within 30 seconds." />
      {lacking === undefined && (
        <TheirKeys
          of={{ name: "UpdateMember", request: { userId: member.userId, role } }}
          isKept={keepApiKeys}
          onChange={setKeepApiKeys}
        />
      )}
      {change.isError && <ProblemNote cause={change.error} />}
      <DialogActions>
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" appearance="primary" isBusy={change.isPending} forbidden={lacking}>
          Change role
        </Button>
      </DialogActions>
    </form>
  );
}

function Invite({ onClose }: { readonly onClose: () => void }) {
  const { accountId, role: own } = useAccount();
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<MemberRole>("developer");
  const invite = useCloudChange((api) => api.account(accountId, "InviteMember", { email: email.trim(), role }));
  if (invite.data !== undefined) {
    const link = `${location.origin}/invitation?token=${encodeURIComponent(invite.data.token)}`;
    return (
      <div className="stack">
        <p>
          A mail with this link was sent to <strong>{email.trim()}</strong>. You can also send the link yourself: it is shown only
          now, works once, and only for a user who signs in with that address.
        </p>
        <Snippet label="the invitation's link" text={link} />
        <p className="quiet">
          It expires <Moment at={invite.data.expiresAt * 1_000} />.
        </p>
        <DialogActions>
          <Button appearance="primary" onClick={onClose}>
            Done
          </Button>
        </DialogActions>
      </div>
    );
  }
  const lacking = /^\S+@\S+\.\S+$/.test(email.trim()) ? forbiddenToChange(own, role) : "Enter an e-mail address first";
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (lacking === undefined && !invite.isPending) invite.mutate();
  };
  return (
    <form className="stack" onSubmit={submit}>
      <TextField label="E-mail address" type="email" value={email} onChange={setEmail} autoComplete="off" />
      <ChoiceField label="Role" value={role} choices={ROLE_CHOICES} onChange={setRole} problem={forbiddenToChange(own, role)} />
      {invite.isError && <ProblemNote cause={invite.error} title="The invitation was not sent." />}
      <DialogActions>
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" appearance="primary" isBusy={invite.isPending} forbidden={lacking}>
          Invite
        </Button>
      </DialogActions>
    </form>
  );
}

function Invitations({ all }: { readonly all: readonly Invitation[] }) {
  const { accountId, role } = useAccount();
  const withdraw = useCloudChange((api, { email }: Invitation) => api.account(accountId, "WithdrawInvitation", { email }), {
    done: (_, { email }) => `The invitation of ${email} is revoked`,
    failed: "The invitation was not revoked",
  });
  return (
    <Table
      label="Open invitations"
      rows={all}
      keyOf={({ invitationId }) => invitationId}
      empty={<p className="quiet">No open invitations.</p>}
      columns={[
        { name: "Who", cell: ({ email }) => email },
        { name: "Role", cell: ({ role: one }) => one },
        { name: "Ends", cell: ({ expiresAt }) => <Moment at={expiresAt * 1_000} /> },
        {
          name: "Actions",
          isNameHidden: true,
          cell: (one) => (
            <Button
              isSmall
              aria-label={`Revoke the invitation of ${one.email}`}
              forbidden={forbiddenFor(role, "members")}
              isBusy={withdraw.isPending && withdraw.variables?.invitationId === one.invitationId}
              onClick={() => withdraw.mutate(one)}
            >
              Revoke
            </Button>
          ),
        },
      ]}
    />
  );
}
