/** The server of tenancy: answers gateways and relays of the cloud, and reports which cached values they must drop. */
import { create } from "@bufbuild/protobuf";
import type { ServerWritableStream, UntypedServiceImplementation } from "@grpc/grpc-js";
import type { Logger } from "@perdure/base";
import type { Tenancy, TenancyChange } from "@perdure/cloud";
import { toJson } from "./codec/json.js";
import {
  checkedBareId,
  checkedEnvironmentId,
  fromGatewayReport,
  fromTunnelsReport,
  fromUsageReports,
  toAuthentication,
  toChange,
  toEnvironment,
  toRateShares,
} from "./codec/tenancy.js";
import * as proto from "./gen/v1/tenancy_pb.js";
import { unaryHandler } from "./unary.js";
import { answerV01 } from "./v01/tenancy.js";

export function tenancyHandlers(tenancy: Tenancy, logger: Logger): UntypedServiceImplementation {
  const answered = <In, Out>(answerTo: (request: In) => Promise<Out>) => unaryHandler(answerTo, logger);
  return {
    getEnvironment: answered(async ({ bareId }: proto.GetEnvironmentRequest) => {
      const facts = await tenancy.environment(checkedBareId(bareId));
      return create(proto.GetEnvironmentResponseSchema, facts === undefined ? {} : { environment: toEnvironment(facts) });
    }),
    listEnvironments: answered(async () =>
      create(proto.ListEnvironmentsResponseSchema, { environments: (await tenancy.environments()).map(toEnvironment) }),
    ),
    authenticate: answered(async ({ credential, environmentId }: proto.AuthenticateRequest) =>
      toAuthentication(await tenancy.authenticate(credential, checkedEnvironmentId(environmentId))),
    ),
    identifyRuntime: answered(async ({ token }: proto.IdentifyRuntimeRequest) => {
      const environmentId = await tenancy.runtimeOf(token);
      return create(proto.IdentifyRuntimeResponseSchema, environmentId === undefined ? {} : { environmentId });
    }),
    reportUsage: answered(async (request: proto.ReportUsageRequest) => {
      await tenancy.report(fromUsageReports(request));
      return create(proto.ReportUsageResponseSchema);
    }),
    reportTunnels: answered(async (request: proto.ReportTunnelsRequest) => {
      await tenancy.reportTunnels(fromTunnelsReport(request));
      return create(proto.ReportTunnelsResponseSchema);
    }),
    shareRates: answered(async (request: proto.ShareRatesRequest) =>
      toRateShares(await tenancy.shareRates(fromGatewayReport(request))),
    ),
    watchChanges: (call: ServerWritableStream<proto.WatchChangesRequest, proto.WatchChangesResponse>) =>
      watch(tenancy, call, toChange),

    ask: answered((question: proto.TenancyQuestion) => answerV01(tenancy, question)),
    watch: (call: ServerWritableStream<proto.WatchTenancyRequest, proto.TenancyNewsMessage>) =>
      watch(tenancy, call, (news) => create(proto.TenancyNewsMessageSchema, { news: toJson(news) })),
  };
}

function watch<Message>(
  tenancy: Tenancy,
  call: ServerWritableStream<unknown, Message>,
  messageOf: (event: TenancyChange) => Message,
): void {
  const stop = new AbortController();
  let isReading = true;
  let hasMissed = false;
  const send = (event: TenancyChange): void => {
    if (stop.signal.aborted) return;
    hasMissed ||= !isReading;
    if (isReading) isReading = call.write(messageOf(event));
  };
  // A slow reader drops everything rather than something.
  call.on("drain", () => {
    isReading = true;
    if (!hasMissed) return;
    hasMissed = false;
    send({ kind: "everything" });
  });
  for (const end of ["cancelled", "close", "error"]) call.on(end, () => stop.abort());
  send({ kind: "everything" });
  tenancy.watch(send, { signal: stop.signal });
}
