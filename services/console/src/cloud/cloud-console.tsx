/** Accounts and environments of the signed-in user, by their addresses. */
import { lazy, type ReactNode, Suspense } from "react";
import { Link, Redirect, Route, Switch, useParams } from "wouter";
import { Empty, Loaded, Loading } from "../kit/index.js";
import { AccountContext, useAccounts } from "./account/account.js";
import { CloudFrame } from "./cloud-frame.js";
import { Home } from "./home.js";
import { accountLinks } from "./places.js";
import { SessionGate } from "./session/session-gate.js";
import { SIGNED_IN_PATH } from "./session/signed-in.js";

const SignedInPage = lazy(() => import("./session/signed-in-page.js"));
const EnvironmentConsole = lazy(() => import("./environment/environment-console.js"));
const EnvironmentsPage = lazy(() => import("./account/environments-page.js"));
const MembersPage = lazy(() => import("./account/members-page.js"));
const UsagePage = lazy(() => import("./account/usage-page.js"));
const AuditPage = lazy(() => import("./account/audit-page.js"));
const SettingsPage = lazy(() => import("./account/settings-page.js"));

export default function CloudConsole() {
  return (
    <Switch>
      <Route path={SIGNED_IN_PATH}>
        <SignedInPage />
      </Route>
      <Route>
        <SessionGate>
          <Places />
        </SessionGate>
      </Route>
    </Switch>
  );
}

function Places() {
  return (
    <Switch>
      <Route path="/">
        <Home mayLeave />
      </Route>
      <Route path="/accounts">
        <Home />
      </Route>
      <Route path="/accounts/:account/environments/:environment" nest>
        <InAccount>
          <EnvironmentOfAddress />
        </InAccount>
      </Route>
      <Route path="/accounts/:account" nest>
        <InAccount>
          <AccountPages />
        </InAccount>
      </Route>
      <Route>
        <main>
          <NoSuchPage />
        </main>
      </Route>
    </Switch>
  );
}

function EnvironmentOfAddress() {
  const { environment = "" } = useParams<{ environment: string }>();
  return <EnvironmentConsole key={environment} id={environment} />;
}

/** A user who is not a member of an account gets the same message as for an id that does not exist. */
function InAccount({ children }: { readonly children: ReactNode }) {
  const { account: id } = useParams<{ account: string }>();
  const accounts = useAccounts();
  if (accounts.data === undefined) {
    return (
      <main className="page">
        <Loaded query={accounts}>{() => null}</Loaded>
      </main>
    );
  }
  const account = accounts.data.find(({ accountId }) => accountId === id);
  if (account === undefined) {
    return (
      <main>
        <Empty title="You are not a member of this account">
          <p>The account does not exist, or you need an invitation to it.</p>
          <p>
            <Link href="~/accounts">Your accounts</Link>
          </p>
        </Empty>
      </main>
    );
  }
  return (
    <AccountContext key={account.accountId} value={account}>
      {children}
    </AccountContext>
  );
}

const ACCOUNT_GROUPS = accountLinks();

function AccountPages() {
  return (
    <CloudFrame groups={ACCOUNT_GROUPS}>
      <Suspense fallback={<Loading />}>
        <Switch>
          <Route path="/">
            <EnvironmentsPage />
          </Route>
          <Route path="/environments">
            <Redirect to="/" replace />
          </Route>
          <Route path="/members">
            <MembersPage />
          </Route>
          <Route path="/usage">
            <UsagePage />
          </Route>
          <Route path="/audit">
            <AuditPage />
          </Route>
          <Route path="/settings">
            <SettingsPage />
          </Route>
          <Route>
            <NoSuchPage />
          </Route>
        </Switch>
      </Suspense>
    </CloudFrame>
  );
}

function NoSuchPage() {
  return (
    <Empty title="Page not found">
      <p>The address is wrong, or the page has moved.</p>
    </Empty>
  );
}
