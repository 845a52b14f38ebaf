/** Actions on a whole environment, with their confirmations, for each page that shows an environment. */
import { useState } from "react";
import { useLocation } from "wouter";
import { Button, Confirmation, Icon, Menu, ProblemNote } from "../../kit/index.js";
import type { EnvironmentDescription } from "../cloud-api.js";
import { environmentPath } from "../places.js";
import { useCloudChange } from "../use-cloud.js";
import { useAccount, useForbidden } from "./account.js";
import { cannotResume, type ListedEnvironment } from "./environment-list.js";

type EnvironmentSubject = Pick<EnvironmentDescription, "environmentId" | "name" | "status"> & {
  readonly suspendedFor?: string | undefined;
};

/** Possible actions, and why others are forbidden; `ask` opens those that must be confirmed first. */
export function useLifecycle({ environmentId, name, status, suspendedFor }: EnvironmentSubject) {
  const { accountId, role } = useAccount();
  const mayNot = useForbidden("environments");
  const [pendingAction, setPendingAction] = useState<"suspend" | "delete">();
  const suspend = useCloudChange((api) => api.account(accountId, "SuspendEnvironment", { environmentId }), {
    done: () => `${name} is suspended`,
    onDone: () => setPendingAction(undefined),
  });
  const resume = useCloudChange((api) => api.account(accountId, "ResumeEnvironment", { environmentId }), {
    done: ({ status: now }) => (now === "PENDING" ? `Retrying ${name}` : `${name} is resumed`),
    failed: `${name} was not resumed`,
  });
  const undelete = useCloudChange((api) => api.account(accountId, "UndeleteEnvironment", { environmentId }), {
    done: () => `${name} is being restored; its API keys stay deleted`,
    failed: `${name} was not restored`,
  });
  const destroy = useCloudChange((api) => api.account(accountId, "DestroyEnvironment", { environmentId, confirmName: name }), {
    done: () => `${name} is being deleted`,
    onDone: () => setPendingAction(undefined),
  });
  return {
    resume,
    undelete,
    setPendingAction,
    forbidden: {
      suspend: mayNot ?? (status === "ACTIVE" ? undefined : "Only active environments can be suspended"),
      resume: mayNot ?? cannotResume({ status, suspendedFor }),
      undelete: role === "owner" ? undefined : `Your role, ${role}, does not allow this. Only owners can restore environments.`,
      delete: mayNot ?? (status === "PENDING" ? "Wait until the environment has started" : undefined),
    },
    dialogs: (
      <>
        <Confirmation
          title={`Suspend ${name}`}
          isOpen={pendingAction === "suspend"}
          onClose={() => setPendingAction(undefined)}
          verb="Suspend"
          isBusy={suspend.isPending}
          problem={suspend.isError && <ProblemNote cause={suspend.error} />}
          onConfirm={() => suspend.mutate()}
        >
          <p>
            Calls are refused, running invocations pause, timers wait and tunnels close. Nothing is lost: after Resume everything
            continues where it stopped. The environment stays readable.
          </p>
        </Confirmation>
        <Confirmation
          title={`Delete ${name}`}
          isOpen={pendingAction === "delete"}
          onClose={() => setPendingAction(undefined)}
          verb="Delete"
          typed={name}
          isBusy={destroy.isPending}
          problem={destroy.isError && <ProblemNote cause={destroy.error} />}
          onConfirm={() => destroy.mutate()}
        >
          <p>
            The environment stops at once and its API keys are deleted for good. An owner can restore it for seven days; after
            that its invocations, state and deployments are erased.
          </p>
        </Confirmation>
      </>
    ),
  };
}

/** Used in a row of the list. */
export function EnvironmentMenu({ environment }: { readonly environment: ListedEnvironment }) {
  const { environmentId, name, status, facts } = environment;
  const { accountId } = useAccount();
  const [, go] = useLocation();
  const lifecycle = useLifecycle({ environmentId, name, status, suspendedFor: facts?.suspendedFor });
  if (status === "DELETING") {
    return (
      <Button
        isSmall
        isBusy={lifecycle.undelete.isPending}
        forbidden={lifecycle.forbidden.undelete}
        onClick={() => lifecycle.undelete.mutate()}
      >
        Restore
      </Button>
    );
  }
  return (
    <>
      <Menu
        trigger={
          <Button isSmall aria-label={`Actions for ${name}`}>
            <Icon name="more" />
          </Button>
        }
        actions={[
          { label: "Developers", onSelect: () => go(environmentPath(accountId, environmentId, "/developers")) },
          { label: "Settings", onSelect: () => go(environmentPath(accountId, environmentId, "/settings")) },
          status === "ACTIVE" || status === "PENDING"
            ? {
                label: "Suspend …",
                onSelect: () => lifecycle.setPendingAction("suspend"),
                forbidden: lifecycle.forbidden.suspend,
              }
            : {
                label: status === "FAILED" ? "Try again" : "Resume",
                onSelect: () => lifecycle.resume.mutate(),
                forbidden: lifecycle.forbidden.resume,
              },
          {
            label: "Delete …",
            onSelect: () => lifecycle.setPendingAction("delete"),
            isDanger: true,
            forbidden: lifecycle.forbidden.delete,
          },
        ]}
      />
      {lifecycle.dialogs}
    </>
  );
}

/** Resume, or try again. */
export function ResumeButton({ subject }: { readonly subject: EnvironmentSubject }) {
  const lifecycle = useLifecycle(subject);
  if (subject.status === "DELETING") {
    return (
      <Button
        appearance="primary"
        isBusy={lifecycle.undelete.isPending}
        forbidden={lifecycle.forbidden.undelete}
        onClick={() => lifecycle.undelete.mutate()}
      >
        Restore
      </Button>
    );
  }
  return (
    <Button
      appearance="primary"
      isBusy={lifecycle.resume.isPending}
      forbidden={lifecycle.forbidden.resume}
      onClick={() => lifecycle.resume.mutate()}
    >
      {subject.status === "FAILED" ? "Try again" : "Resume"}
    </Button>
  );
}
