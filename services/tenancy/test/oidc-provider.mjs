/**
 * An OpenID Connect provider for tests that signs in the user of `?as=<name>`, as a process. Arguments: redirect URI, client secret, and
 * `silent` for one that does not return when the user authenticated.
 */
import { createServer } from "node:http";
import Provider from "oidc-provider";

const [redirectUri, clientSecret, manner] = process.argv.slice(2);
let handle;
const server = createServer((req, res) => handle(req, res));
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const issuer = `http://127.0.0.1:${server.address().port}`;

const provider = new Provider(issuer, {
  clients: [{ client_id: "perdure", client_secret: clientSecret, redirect_uris: [redirectUri] }],
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
  cookies: { keys: ["for tests only"] },
  features: { devInteractions: { enabled: false } },
  interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
  async findAccount(_ctx, id) {
    const claims = { sub: id, email: `${id}@Elsewhere.test`, email_verified: !id.startsWith("unverified"), name: `The ${id}` };
    return { accountId: id, claims: async () => claims };
  },
  async loadExistingGrant({ oidc }) {
    const grant = new oidc.provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
    grant.addOIDCScope("openid email profile");
    await grant.save();
    return grant;
  },
});
if (manner === "silent") {
  const { issue } = provider.IdToken.prototype;
  provider.IdToken.prototype.issue = function (...args) {
    delete this.available.auth_time;
    return issue.apply(this, args);
  };
}
const flow = provider.callback();
handle = (req, res) => {
  const url = new URL(req.url, issuer);
  if (!url.pathname.startsWith("/interaction/")) return flow(req, res);
  const who = url.searchParams.get("as");
  const result = who === null ? { error: "access_denied" } : { login: { accountId: who } };
  provider.interactionFinished(req, res, result, { mergeWithLastSubmission: false }).catch((error) => {
    res.writeHead(500).end(String(error));
  });
};
process.stdout.write(`${issuer}\n`);
process.on("disconnect", () => process.exit()); // Ends with the test.
