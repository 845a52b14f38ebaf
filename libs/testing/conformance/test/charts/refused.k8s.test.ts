/** Invalid values are refused before anything is installed, and the message names them. */
import { beforeAll, expect, test } from "@jest/globals";
import { runHelm } from "@perdure/servers";
import { type RenderOptions, renderText } from "./release.js";

const FIRST_MS = 45 * 60_000;
const TEST_MS = 120_000;

beforeAll(async () => {
  await runHelm("version");
}, FIRST_MS);

const minimal = { values: "minimal" } as const;
const balanced = { values: "loadbalancer" } as const;

test.concurrent.each<readonly [string, Pick<RenderOptions, "values">, RegExp]>([
  ["global.region=", minimal, /global\/region|global\.region/],
  ["global.region=UPPER", minimal, /region/],
  ["global.region=a..b", minimal, /region/],
  ["global.cell=-c1", minimal, /cell/],
  ["global.domain=", minimal, /domain/],
  ["global.domain=https://example.org", minimal, /domain/],
  ["global.clusterDns=.local.", minimal, /clusterDns/],
  ["global.imageRegistry=a/", minimal, /imageRegistry/],
  ["global.ipFamily=six", minimal, /ipFamily/],
  ["global.tracing.endpoint=collector:4318", minimal, /endpoint/],
  ["global.colour=red", minimal, /colour/],
  ["colour=red", minimal, /colour/],
  ["crds.install=perhaps", minimal, /install/],
  ["postgres.existingSecret=", minimal, /postgres/],
  ["postgres.password=hunter2", minimal, /password/],
  [
    "auth.signingRoot.existingSecret=",
    minimal,
    /auth\.signingRoot\.existingSecret must be set where helm cannot ask the cluster/,
  ],
  ["internalTls.existingSecret=", minimal, /internalTls\.existingSecret must be set where helm cannot ask the cluster/],
  ["internalTls.mode=perhaps", minimal, /mode/],
  ["edge.mode=nodeport", minimal, /mode/],
  ["edge.tls.mode=selfsigned", minimal, /mode/],
  ["edge.tls.issuerRef.name=", minimal, /edge\.tls\.issuerRef\.name must be set/],
  ["edge.tls.mode=secret", minimal, /edge\.tls\.secrets\.\w+ must be set/],
  ["edge.gatewayApi.className=", minimal, /edge\.gatewayApi\.className must be set/],
  [
    "edge.clients.from=",
    minimal,
    /edge\.clients\.from must be set where edge\.mode is gateway-api.*edge\.clients\.trustedProxies/,
  ],
  ["edge.clients.trustedProxies=null", minimal, /trustedProxies/],
  ["edge.clients.from=header", { values: "ingress" }, /edge\.clients\.trustedProxies must be set/],
  ["edge.clients.trustedProxies={proxy.example.org}", minimal, /trustedProxies/],
  ["edge.clients.header=x-real-ip", minimal, /header/],
  ["edge.mode=ingress", minimal, /edge\.ingress\.className must be set/],
  ["edge.ports.api=8080", minimal, /must differ/],
  ["edge.ports.ingress=70000", minimal, /ingress/],
  ["edge.tls.secrets.tunnel=", balanced, /edge\.tls\.secrets\.tunnel must be set/],
  ["edge.loadBalancer.sourceRanges={10.0.0.1}", balanced, /sourceRanges/],
  ["gateway.digest=1.0@sha256:abc", minimal, /digest/],
  ["operator.redisImage.digest=sha256:short", minimal, /digest/],
  ["operator.runtimeDigests.worker:latest=sha256:short", minimal, /runtimeDigests/],
  ["global.imagePullPolicy=Sometimes", minimal, /imagePullPolicy/],
  ["global.commonLabels.perdure\\.dev/environment=x", minimal, /invalid propertyName/],
  ["global.revisionHistoryLimit=0", minimal, /revisionHistoryLimit/],
  ["gateway.replicas=0", minimal, /replicas/],
  ["gateway.resources=null", minimal, /resources/],
  ["gateway.resources.requests.memory=null", minimal, /memory/],
  ["gateway.drainSeconds=2m", minimal, /drainSeconds/],
  ["gateway.autoscaling.minReplicas=50", minimal, /gateway\.autoscaling\.minReplicas must not be above maxReplicas/],
  ["gateway.topologySpread=rack", minimal, /topologySpread/],
  ["gateway.extraEnv[0].value=x", minimal, /extraEnv/],
  ["gateway.extraVolumeMounts[0].name=x,gateway.extraVolumeMounts[0].mountPath=var", minimal, /mountPath/],
  ["tenancy.mail.smtpHost=smtp.example.org", minimal, /tenancy\.mail\.from must be set/],
  ["tenancy.mail.password=hunter2", minimal, /password/],
  ["tenancy.environments.version=latest", minimal, /version/],
  ["tenancy.environments.hibernateAfter=soon", minimal, /hibernateAfter/],
  ["operator.optionalApis.keda=perhaps", minimal, /keda/],
  ["tenancy.mail.smtpTls=maybe", minimal, /smtpTls/],
  ["tenancy.login.oidc.issuer=https://login.example.org", minimal, /tenancy\.login\.oidc\.clientId must be set/],
  [
    "tenancy.login.oidc.issuer=https://login.example.org,tenancy.login.oidc.clientId=x",
    minimal,
    /clientSecret\.name must be set/,
  ],
  ["tunnelRelay.handshakesPerMinute=0", minimal, /handshakesPerMinute/],
  ["monitoring.serviceMonitor.interval=often", minimal, /interval/],
  ["networkPolicy.postgres.cidrs={10.0.0.1}", minimal, /cidrs/],
  ["networkPolicy.apiServer.ports={}", minimal, /ports/],
  ["operator.replicas=0", minimal, /replicas/],
  ["operator.tag=latest", minimal, /tag/],
  ["operator.resync=soon", minimal, /resync/],
  ["operator.workers=100", minimal, /workers/],
  ["operator.redisImage=redis", minimal, /redisImage/],
  ["operator.redisImage.tag=latest", minimal, /redisImage.tag/],
  ["operator.redisImage.digest=abc", minimal, /redisImage.digest/],
  ["operator.digest=sha256:abc", minimal, /digest/],
  ["global.imagePullPolicy=Sometimes", minimal, /imagePullPolicy/],
  ["operator.colour=red", minimal, /colour/],
])(
  "%s",
  async (set, values, named) => {
    await expect(renderText({ ...values, sets: [set] })).rejects.toThrow(named);
  },
  TEST_MS,
);
