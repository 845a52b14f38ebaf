/** Why: keys and deeds name users by ids; people know each other by name. */
import { forbiddenFor } from "../roles.js";
import { useCloudRequest } from "../use-cloud.js";
import { useAccount } from "./account.js";

/** By user id; who is no member any more stays an id. */
export function useMemberNames(): (userId: string) => string {
  const members = useCachedMembers();
  return (userId) => {
    const member = members?.find((one) => one.userId === userId);
    return member?.name ?? member?.email ?? userId;
  };
}

/** Of this account; undefined until they are known, and for whoever may not know them. */
export function useCachedMembers() {
  const { accountId, role } = useAccount();
  const { data, isPlaceholderData } = useCloudRequest(
    ["members", accountId],
    (api, signal) => api.account(accountId, "ListMembers", {}, signal),
    { isOff: forbiddenFor(role, "view") !== undefined },
  );
  return isPlaceholderData ? undefined : data?.members; // Those of another account say nothing about this one.
}
