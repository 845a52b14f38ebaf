/** Functions and files that are longer than the engineering guide says, and why. Both lists may only shrink. */

export interface LongFunctions {
  readonly reason: string;
  /** `path#name`, the name as `functionsOver` returns it. */
  readonly functions: readonly string[];
}

/** Functions over 70 lines; none is over 100. */
export const OVER_A_SCREEN: readonly LongFunctions[] = [
  {
    reason:
      "Markup of one panel: its state and the elements that show it. The parts that have state of their own are components already.",
    functions: [
      "services/console/src/cloud/account/members-page.tsx#MemberTable",
      "services/console/src/cloud/environment/settings-page.tsx#SettingsForm",
      "services/console/src/cloud/environment/signing-keys.tsx#RotationSteps",
      "services/console/src/environment/awakeables/awakeables-page.tsx#AwakeablesPage",
      "services/console/src/environment/deployments/deployment-page.tsx#Deployment",
      "services/console/src/environment/deployments/register-dialog.tsx#RegisterDialog",
      "services/console/src/environment/flow/flow-page.tsx#Queues",
      "services/console/src/environment/invocation/actions.tsx#useInvocationActions",
      "services/console/src/environment/invocation/timeline-chart.tsx#TimelineChart",
      "services/console/src/environment/invocation/timeline.tsx#LoadedTimeline",
      "services/console/src/environment/invocations/batches-page.tsx#Results",
      "services/console/src/environment/invocations/filter-dialog.tsx#FilterDialog",
      "services/console/src/environment/invocations/invocation-grid.tsx#InvocationGrid",
      "services/console/src/environment/invocations/list-page.tsx#ListPage",
      "services/console/src/environment/playground/answer-panel.tsx#Shown",
      "services/console/src/environment/sql/result-grid.tsx#ResultGrid",
      "services/console/src/environment/sql/sql-page.tsx#SqlPage",
      "services/console/src/environment/state/key-page.tsx#Entries",
      "services/console/src/environment/subscriptions/cluster-dialog.tsx#ClusterDialog",
      "services/console/src/environment/subscriptions/clusters.tsx#Clusters",
      "services/console/src/environment/subscriptions/subscription-details.tsx#SubscriptionDetails",
      "services/console/src/environment/subscriptions/subscription-dialog.tsx#SubscriptionDialog",
      "services/console/src/shell/frame.tsx#Frame",
    ],
  },
  {
    reason: "A hook: state that several callbacks of one component share.",
    functions: ["services/console/src/environment/invocations/use-list.ts#useInvocationList"],
  },
  {
    reason: "One case per kind of command, action or mutation, or one per field of a stored row; each case is a line or two.",
    functions: [
      "libs/core/state-machine/src/testing/memory-partition.ts#MemoryPartition.mutate",
      "libs/core/service-protocol/src/codec/encode-command.ts#writeCommand",
      "libs/core/service-protocol/test/oracle.ts#oracleCommand",
      "libs/core/service-protocol/test/recorded.ts#recordedCommand",
      "libs/testing/simulator/src/endpoint/interpret.ts#perform",
      "libs/ports/storage/src/codec/facts.ts#decodeFacts",
      "libs/ports/storage/src/codec/invocation.ts#readFields",
    ],
  },
  {
    reason: "Handlers of one test service, each a few lines, of which the SDK needs one object.",
    functions: [
      "libs/testing/conformance/src/chaos/services.ts#chaosServices",
      "libs/testing/conformance/src/cli/scenario-services.ts#greeterHandlers",
      "libs/testing/conformance/src/neighbours/rogue-scripts.ts#rogueScripts",
      "libs/testing/conformance/src/services/combine.ts#combineService",
      "libs/testing/conformance/src/services/failures.ts#failuresService",
      "libs/testing/conformance/src/services/flows.ts#flowServices",
      "libs/testing/conformance/src/services/signals.ts#treeObjects",
      "libs/testing/conformance/src/services/store.ts#storeObject",
    ],
  },
  {
    reason: "A table of routes or RPCs: each has its texts, its shapes and a few lines that respond.",
    functions: ["libs/adapters/grpc/src/registry-server.ts#registryHandlers"],
  },
  {
    reason: "A command with its subcommands: options, texts and a few lines that call the API.",
    functions: [
      "services/cli/src/commands/manage/kafka.ts#registerClusters",
      "services/cli/src/commands/manage/rules.ts#registerRules",
    ],
  },
  {
    reason: "Declarations of metrics, one after the other.",
    functions: [
      "services/cloud-gateway/src/metrics.ts#gatewayMetrics",
      "services/invoker-worker/src/metrics.ts#observeWorker",
      "services/operator/src/metrics.ts#operatorMetrics",
    ],
  },
  {
    reason: "Starts the parts of a role in their order and returns them as one object: a list of statements without branches.",
    functions: [
      "libs/engine/partition-processor/src/testing/archiving-world.ts#archivingWorld",
      "libs/engine/introspection/src/engine.ts#createSqlEngine",
      "services/admin-api/src/process/composition.ts#startAdmin",
      "services/invoker-worker/src/cluster/cluster-worker.ts#createClusterWorker",
      "services/invoker-worker/src/role.ts#createInvokerWorker",
      "services/tenancy/src/process/composition.ts#startTenancy",
      "services/tenancy/src/testing/tenancy.ts#openTestTenancy",
    ],
  },
  {
    reason: "One scenario in the order in which it happens.",
    functions: [
      "libs/testing/conformance/bench/cluster/sleepers.mjs#measureSleepers",
      "libs/testing/conformance/src/cli/scenario.ts#playScenario",
      "libs/testing/conformance/test/cluster/admin.cluster.test.ts#beforeAll(…)",
      'libs/testing/conformance/test/observability/traces.server.test.ts#test("a call with a child that needs two attempts is one tree under its caller\'s span")',
      'libs/engine/introspection/test/stored.test.ts#test("shows each entry with the texts that the CLI parses")',
      'services/console/test/journey.browser.test.ts#test("from nothing to a durable call of a service on one\'s own machine")',
      "services/operator/src/environment/secrets-leave.test.ts#aCluster",
      "services/operator/test/kubelet.ts#playKubelet",
      'services/tunnel-relay/test/official-cli.namespace.test.ts#test("opens a tunnel, registers through it, serves with signatures checked, comes back, and ends with the relay\'s word")',
    ],
  },
  {
    reason: "Texts to copy, one per language.",
    functions: ["services/console/src/cloud/environment/snippets.ts#snippetsOf"],
  },
  {
    reason: "The rounds of the algorithm stand as in its reference implementation.",
    functions: ["libs/core/base/src/siphash13.ts#siphash13"],
  },
  {
    reason: "Callbacks that share one connection or one view: what they close over would be a list of parameters.",
    functions: [
      "libs/adapters/grpc/src/remote-registry.ts#deploymentChanges",
      "libs/ports/storage/src/archive-reads.ts#archived",
      "libs/ports/storage/src/kv/kv-partition-store.ts#collect",
    ],
  },
];

/** Path → why the file is over 400 lines. */
export const LONG_FILES: Readonly<Record<string, string>> = {};
