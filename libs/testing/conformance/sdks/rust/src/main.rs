//! The services of the scenarios (see ../../README.md) with the Rust SDK. Environment: PORT, and IDENTITY_KEY when requests
//! must be signed.
mod planted;

use restate_sdk::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

/// How often a piece of user code ran, by a name that the scenario chooses: what a journal must not repeat.
static RUNS: LazyLock<Mutex<HashMap<String, u32>>> = LazyLock::new(Default::default);

fn ran(name: &str) -> u32 {
    let mut runs = RUNS.lock().unwrap();
    let count = runs.entry(name.to_owned()).or_default();
    *count += 1;
    *count
}

struct Greeter;

#[service]
impl Greeter {
    #[handler]
    async fn greet(&self, ctx: Context<'_>, name: String) -> HandlerResult<String> {
        let salutation: String = ctx
            .run(|| async { Ok("Hello".to_owned()) })
            .name("salutation")
            .await?;
        let mark: String = ctx
            .run(|| async { Ok("!".to_owned()) })
            .name("mark")
            .await?;
        Ok(format!("{salutation} {name}{mark}"))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Walk {
    id: String,
    count: u32,
    pause_ms: u64,
}

struct Steps;

#[service]
impl Steps {
    #[handler]
    async fn walk(&self, ctx: Context<'_>, walk: Json<Walk>) -> HandlerResult<Json<Vec<u32>>> {
        let walk = walk.into_inner();
        let mut seen = Vec::new();
        for _ in 0..walk.count {
            let run: u32 = ctx.run(|| async { Ok(ran(&walk.id)) }).name("step").await?;
            seen.push(run);
            ctx.sleep(Duration::from_millis(walk.pause_ms)).await?;
        }
        Ok(Json(seen))
    }

    #[handler]
    async fn nap(&self, ctx: Context<'_>, ms: u64) -> HandlerResult<String> {
        ctx.sleep(Duration::from_millis(ms)).await?;
        Ok("rested".to_owned())
    }
}

struct Counter;

#[object]
impl Counter {
    #[handler]
    async fn add(&self, ctx: ObjectContext<'_>, n: i64) -> HandlerResult<i64> {
        let sum = ctx.get::<i64>("count").await?.unwrap_or(0) + n;
        ctx.set("count", sum);
        Ok(sum)
    }

    #[handler]
    async fn label(&self, ctx: ObjectContext<'_>, text: String) -> HandlerResult<()> {
        ctx.set("label", text);
        Ok(())
    }

    #[handler]
    async fn reset(&self, ctx: ObjectContext<'_>) -> HandlerResult<()> {
        ctx.clear("count");
        Ok(())
    }

    #[handler]
    async fn wipe(&self, ctx: ObjectContext<'_>) -> HandlerResult<()> {
        ctx.clear_all();
        Ok(())
    }

    #[handler]
    async fn get(&self, ctx: SharedObjectContext<'_>) -> HandlerResult<i64> {
        Ok(ctx.get::<i64>("count").await?.unwrap_or(0))
    }

    #[handler]
    async fn keys(&self, ctx: SharedObjectContext<'_>) -> HandlerResult<Json<Vec<String>>> {
        Ok(Json(ctx.get_keys().await?))
    }
}

struct Signup;

#[workflow]
impl Signup {
    #[handler]
    async fn run(&self, ctx: WorkflowContext<'_>, ms: u64) -> HandlerResult<String> {
        ctx.set("phase", "asleep".to_owned());
        ctx.sleep(Duration::from_millis(ms)).await?;
        ctx.set("phase", "waiting".to_owned());
        let by: String = ctx.promise("approval").await?;
        ctx.set("phase", "done".to_owned());
        Ok(format!("approved by {by}"))
    }

    #[handler]
    async fn approve(&self, ctx: SharedWorkflowContext<'_>, by: String) -> HandlerResult<()> {
        ctx.resolve_promise("approval", by);
        Ok(())
    }

    #[handler]
    async fn phase(&self, ctx: SharedWorkflowContext<'_>) -> HandlerResult<String> {
        Ok(ctx.get::<String>("phase").await?.unwrap_or_default())
    }
}

#[derive(Serialize, Deserialize)]
struct Tally {
    key: String,
    numbers: Vec<i64>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Later {
    key: String,
    n: i64,
    delay_ms: u64,
}

#[derive(Serialize, Deserialize)]
struct Nap {
    key: String,
    ms: u64,
}

struct Caller;

#[service]
impl Caller {
    #[handler]
    async fn greet(&self, ctx: Context<'_>, name: String) -> HandlerResult<String> {
        Ok(ctx
            .service_client::<GreeterClient>()
            .greet(name)
            .call()
            .await?)
    }

    #[handler]
    async fn tally(&self, ctx: Context<'_>, tally: Json<Tally>) -> HandlerResult<i64> {
        let Tally { key, numbers } = tally.into_inner();
        for n in numbers {
            ctx.object_client::<CounterClient>(key.clone())
                .add(n)
                .send();
        }
        Ok(ctx
            .object_client::<CounterClient>(key)
            .add(0)
            .call()
            .await?)
    }

    #[handler]
    async fn later(&self, ctx: Context<'_>, later: Json<Later>) -> HandlerResult<String> {
        let Later { key, n, delay_ms } = later.into_inner();
        let sent = ctx
            .object_client::<CounterClient>(key)
            .add(n)
            .send_after(Duration::from_millis(delay_ms))
            .await?;
        Ok(sent.invocation_id().to_owned())
    }

    #[handler]
    async fn nap(&self, ctx: Context<'_>, nap: Json<Nap>) -> HandlerResult<String> {
        let Nap { key, ms } = nap.into_inner();
        Ok(ctx
            .object_client::<NapperClient>(key)
            .nap(ms)
            .call()
            .await?)
    }

    #[handler]
    async fn cancel(&self, ctx: Context<'_>, id: String) -> HandlerResult<()> {
        ctx.invocation_handle(id).cancel();
        Ok(())
    }

    #[handler]
    async fn join(&self, ctx: Context<'_>, id: String) -> HandlerResult<String> {
        Ok(ctx.invocation_handle(id).attach::<String>().await?)
    }
}

struct Mailbox;

#[object]
impl Mailbox {
    #[handler]
    async fn receive(&self, ctx: ObjectContext<'_>, ms: u64) -> HandlerResult<String> {
        let (id, letter) = ctx.awakeable::<String>();
        ctx.set("address", id);
        let text = restate_sdk::select! {
            text = letter => text,
            _ = ctx.sleep(Duration::from_millis(ms)) => Ok("no message".to_owned())
        }?;
        ctx.clear("address");
        Ok(text)
    }

    #[handler]
    async fn address(&self, ctx: SharedObjectContext<'_>) -> HandlerResult<String> {
        Ok(ctx.get::<String>("address").await?.unwrap_or_default())
    }
}

#[derive(Serialize, Deserialize)]
struct Raise {
    id: String,
    value: String,
}

struct Flag;

#[service]
impl Flag {
    #[handler]
    async fn wait(&self, ctx: Context<'_>) -> HandlerResult<String> {
        Ok(ctx.signal::<String>("flag").await?)
    }

    #[handler]
    async fn raise(&self, ctx: Context<'_>, raise: Json<Raise>) -> HandlerResult<()> {
        let Raise { id, value } = raise.into_inner();
        ctx.invocation_handle(id).signal("flag").resolve(value);
        Ok(())
    }
}

#[derive(Serialize, Deserialize)]
struct Failure {
    code: u16,
    message: String,
}

#[derive(Serialize, Deserialize)]
struct Flaky {
    id: String,
    failures: u32,
}

struct NotYet;

/// The SDK reports errors in this form: it is the sentence, too.
impl std::fmt::Debug for NotYet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl std::fmt::Display for NotYet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the attempt fails on purpose")
    }
}

impl std::error::Error for NotYet {}

fn succeed_after(flaky: &Flaky) -> HandlerResult<u32> {
    let attempt = ran(&flaky.id);
    if attempt <= flaky.failures {
        return Err(NotYet.into());
    }
    Ok(attempt)
}

struct Failing;

#[service]
impl Failing {
    #[handler]
    async fn terminal(&self, _ctx: Context<'_>, failure: Json<Failure>) -> HandlerResult<String> {
        let Failure { code, message } = failure.into_inner();
        Err(TerminalError::new_with_code(code, message).into())
    }

    #[handler]
    async fn flaky(&self, _ctx: Context<'_>, flaky: Json<Flaky>) -> HandlerResult<u32> {
        succeed_after(&flaky.into_inner())
    }

    #[handler(name = "flakyStep")]
    async fn flaky_step(&self, ctx: Context<'_>, flaky: Json<Flaky>) -> HandlerResult<u32> {
        let flaky = flaky.into_inner();
        Ok(ctx
            .run(|| async { succeed_after(&flaky) })
            .name("flaky")
            .retry_policy(RunRetryPolicy::new().initial_delay(Duration::from_millis(10)))
            .await?)
    }

    /// The step gives up after two attempts; what comes of it is caught here.
    #[handler(name = "givesUp")]
    async fn gives_up(&self, ctx: Context<'_>, id: String) -> HandlerResult<String> {
        let policy = RunRetryPolicy::new()
            .initial_delay(Duration::from_millis(10))
            .max_attempts(2);
        let outcome: Result<u32, TerminalError> = ctx
            .run(|| async {
                ran(&id);
                Err(NotYet.into())
            })
            .name("hopeless")
            .retry_policy(policy)
            .await;
        match outcome {
            Ok(attempt) => Ok(format!("succeeded at attempt {attempt}")),
            Err(_) => Ok("gave up".to_owned()),
        }
    }
}

struct Napper;

#[object]
impl Napper {
    #[handler]
    async fn nap(&self, ctx: ObjectContext<'_>, ms: u64) -> HandlerResult<String> {
        ctx.set("phase", "napping".to_owned());
        if let Err(woken) = ctx.sleep(Duration::from_millis(ms)).await {
            ctx.set("phase", format!("woken with {}", woken.code()));
            return Err(woken.into());
        }
        ctx.set("phase", "rested".to_owned());
        Ok("rested".to_owned())
    }

    #[handler]
    async fn phase(&self, ctx: SharedObjectContext<'_>) -> HandlerResult<String> {
        Ok(ctx.get::<String>("phase").await?.unwrap_or_default())
    }
}

#[tokio::main]
async fn main() {
    let port: u16 = std::env::var("PORT").expect("PORT").parse().expect("PORT");
    let mut endpoint = Endpoint::builder()
        .bind(Greeter)
        .bind(Steps)
        .bind(Counter)
        .bind(Signup)
        .bind(Caller)
        .bind(Mailbox)
        .bind(Flag)
        .bind(Failing)
        .bind(Napper)
        .bind(planted::Planted)
        .bind(planted::Shelf);
    if let Ok(key) = std::env::var("IDENTITY_KEY") {
        endpoint = endpoint.identity_key(&key).expect("IDENTITY_KEY");
    }
    HttpServer::new(endpoint.build())
        .listen_and_serve(([127, 0, 0, 1], port).into())
        .await;
}
