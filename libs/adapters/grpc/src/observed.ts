/**
 * Measures and traces unary calls, on the client and on the server; the trace of the caller travels as `traceparent`. Streams are not
 * measured: they last as long as a process, and their messages are counted by the receiver.
 */
import {
  InterceptingCall,
  type Interceptor,
  type ServerUnaryCall,
  type ServiceDefinition,
  type sendUnaryData,
  status,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";
import type { OperationObserver } from "@perdure/base";

const TRACEPARENT = "traceparent";

/** `/perdure.control.v1.Registry/Change` is method `Change` of service `perdure.control.v1.Registry`. */
function partsOf(path: string): readonly [service: string, method: string] {
  const slash = path.lastIndexOf("/");
  return [path.slice(1, slash), path.slice(slash + 1)];
}

const nameOf = (code: status): string | undefined => (code === status.OK ? undefined : (status[code] ?? "UNKNOWN"));

/** Returns an interceptor that reports each unary call of a channel to the observer. */
export function observingInterceptor(observer: OperationObserver): Interceptor {
  return (options, nextCall) => {
    const { path, requestStream, responseStream } = options.method_definition;
    if (requestStream || responseStream) return new InterceptingCall(nextCall(options));
    const [service, method] = partsOf(path);
    const operation = observer.begin(method, service);
    return new InterceptingCall(nextCall(options), {
      start(metadata, _listener, next) {
        if (operation.traceparent !== undefined) metadata.set(TRACEPARENT, operation.traceparent);
        next(metadata, {
          onReceiveStatus(received, nextStatus) {
            operation.end(nameOf(received.code));
            nextStatus(received);
          },
        });
      },
    });
  };
}

/** The same handlers, those of questions with one answer observed. */
export function observedHandlers(
  definition: ServiceDefinition,
  handlers: UntypedServiceImplementation,
  observer: OperationObserver,
): UntypedServiceImplementation {
  const observed: UntypedServiceImplementation = { ...handlers };
  for (const [name, { path, requestStream, responseStream }] of Object.entries(definition)) {
    const handler = handlers[name];
    if (requestStream || responseStream || handler === undefined) continue;
    const [service, method] = partsOf(path);
    observed[name] = (call: ServerUnaryCall<unknown, unknown>, answer: sendUnaryData<unknown>): void => {
      const [caller] = call.metadata.get(TRACEPARENT);
      const operation = observer.begin(method, service, typeof caller === "string" ? caller : undefined);
      const answered: sendUnaryData<unknown> = (error, ...rest) => {
        operation.end(error === null ? undefined : nameOf(error.code ?? status.UNKNOWN));
        answer(error, ...rest);
      };
      operation.run(() => (handler as (call: unknown, answer: sendUnaryData<unknown>) => void)(call, answered));
    };
  }
  return observed;
}

/** Methods of a service that are observed. */
export function observedMethods(definition: ServiceDefinition): readonly string[] {
  return Object.values(definition)
    .filter(({ requestStream, responseStream }) => !requestStream && !responseStream)
    .map(({ path }) => partsOf(path)[1]);
}
