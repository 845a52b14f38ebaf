/** Tenancy's side: answers the doors of the cloud, and tells them what their caches must forget. */
import { create } from "@bufbuild/protobuf";
import {
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  status,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";
import { type Logger, PerdureError } from "@perdure/base";
import type {
  BareEnvironmentId,
  EnvironmentId,
  GatewayReport,
  Tenancy,
  TenancyNews,
  TunnelsReport,
  UsageReport,
} from "@perdure/cloud";
import { fromJson, toJson } from "./codec/json.js";
import { encodeFacts, TENANCY_METHODS, type TenancyMethod } from "./codec/tenancy.js";
import {
  type TenancyAnswer,
  TenancyAnswerSchema,
  type TenancyNewsMessage,
  TenancyNewsMessageSchema,
  type TenancyQuestion,
  type WatchTenancyRequest,
} from "./gen/v1/tenancy_pb.js";

export function tenancyHandlers(tenancy: Tenancy, logger: Logger): UntypedServiceImplementation {
  return {
    ask({ request }: ServerUnaryCall<TenancyQuestion, TenancyAnswer>, answer: sendUnaryData<TenancyAnswer>) {
      answerTo(tenancy, request).then(
        (value) => answer(null, create(TenancyAnswerSchema, { result: toJson(value) })),
        (cause: unknown) => {
          const error = PerdureError.from(cause);
          if (error !== cause) logger.error({ error: cause, method: request.method }, "a question to tenancy failed");
          answer({ code: status.UNAVAILABLE, details: error.message });
        },
      );
    },

    watch(call: ServerWritableStream<WatchTenancyRequest, TenancyNewsMessage>) {
      const stop = new AbortController();
      let isReading = true;
      let hasMissed = false;
      const send = (news: TenancyNews): void => {
        if (stop.signal.aborted) return;
        hasMissed ||= !isReading;
        if (isReading) isReading = call.write(create(TenancyNewsMessageSchema, { news: toJson(news) }));
      };
      // Who reads slowly forgets everything rather than something.
      call.on("drain", () => {
        isReading = true;
        if (!hasMissed) return;
        hasMissed = false;
        send({ kind: "everything" });
      });
      for (const end of ["cancelled", "close", "error"]) call.on(end, () => stop.abort());
      send({ kind: "everything" });
      tenancy.watch(send, { signal: stop.signal });
    },
  };
}

async function answerTo(tenancy: Tenancy, { method, arguments: body }: TenancyQuestion): Promise<unknown> {
  if (!TENANCY_METHODS.includes(method as TenancyMethod)) throw new PerdureError("OPS0003", `there is no question '${method}'`);
  const values = fromJson(body) as unknown[];
  switch (method as TenancyMethod) {
    case "environment": {
      const facts = await tenancy.environment(values[0] as BareEnvironmentId);
      return facts === undefined ? undefined : encodeFacts(facts);
    }
    case "environments":
      return (await tenancy.environments()).map(encodeFacts);
    case "authenticate":
      return await tenancy.authenticate(values[0] as string, values[1] as EnvironmentId);
    case "report":
      return await tenancy.report(values[0] as readonly UsageReport[]);
    case "reportTunnels":
      return await tenancy.reportTunnels(values[0] as TunnelsReport);
    case "shareRates":
      return await tenancy.shareRates(values[0] as GatewayReport);
    case "runtimeOf":
      return await tenancy.runtimeOf(values[0] as string);
  }
}
