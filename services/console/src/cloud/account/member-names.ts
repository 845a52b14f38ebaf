/** Keys and audit records name users by ids; the console shows their names. */
import { forbiddenFor } from "../roles.js";
import { useCloudRequest } from "../use-cloud.js";
import { useAccount } from "./account.js";

/** Returns the name of a user by id; a user who is not a member any more is shown by id. */
export function useMemberNames(): (userId: string) => string {
  const members = useCachedMembers();
  return (userId) => {
    const member = members?.find((one) => one.userId === userId);
    return member?.name ?? member?.email ?? userId;
  };
}

/** Members of this account; undefined until they are loaded, and for users without permission to list them. */
export function useCachedMembers() {
  const { accountId, role } = useAccount();
  const { data, isPlaceholderData } = useCloudRequest(
    ["members", accountId],
    (api, signal) => api.account(accountId, "ListMembers", {}, signal),
    { isOff: forbiddenFor(role, "view") !== undefined },
  );
  return isPlaceholderData ? undefined : data?.members; // Members of another account do not apply to this one.
}
