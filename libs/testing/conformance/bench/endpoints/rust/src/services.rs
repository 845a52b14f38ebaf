//! The handlers that the rows call. ../../typescript.mjs has the same ones.
use restate_sdk::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::future::pending;
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

pub fn endpoint() -> Endpoint {
    let suspending = |after| ServiceOptions::new().inactivity_timeout(after);
    Endpoint::builder()
        .bind(Bench)
        .bind(Counter)
        .bind(Keeper)
        .bind(Waiting)
        .bind(Fan)
        .bind(
            Journal
                .into_service_definition()
                .options(suspending(Duration::from_millis(200))),
        )
        .bind(
            Sleeper
                .into_service_definition()
                .options(suspending(Duration::ZERO)),
        )
        .build()
}

fn text(length: u64) -> String {
    "x".repeat(length as usize)
}

async fn steps(ctx: &Context<'_>, count: u32) -> HandlerResult<u32> {
    for n in 0..count {
        ctx.run(move || async move { Ok(n) }).name("step").await?;
    }
    Ok(count)
}

struct Bench;

#[service]
impl Bench {
    #[handler]
    async fn noop(&self, _ctx: Context<'_>) -> HandlerResult<String> {
        Ok("hello".to_owned())
    }

    #[handler]
    async fn echo(&self, _ctx: Context<'_>, text: String) -> HandlerResult<String> {
        Ok(text)
    }

    #[handler]
    async fn take(&self, _ctx: Context<'_>, text: String) -> HandlerResult<u64> {
        Ok(text.len() as u64)
    }

    #[handler]
    async fn make(&self, _ctx: Context<'_>, length: u64) -> HandlerResult<String> {
        Ok(text(length))
    }

    #[handler]
    async fn step(&self, ctx: Context<'_>, length: u64) -> HandlerResult<u64> {
        let made: String = ctx
            .run(move || async move { Ok(text(length)) })
            .name("large")
            .await?;
        Ok(made.len() as u64)
    }

    #[handler]
    async fn hang(&self, _ctx: Context<'_>) -> HandlerResult<()> {
        pending().await
    }

    #[handler]
    async fn three(&self, ctx: Context<'_>) -> HandlerResult<u32> {
        steps(&ctx, 3).await
    }

    #[handler]
    async fn ten(&self, ctx: Context<'_>) -> HandlerResult<u32> {
        steps(&ctx, 10).await
    }
}

struct Counter;

#[object]
impl Counter {
    #[handler]
    async fn add(&self, ctx: ObjectContext<'_>) -> HandlerResult<u64> {
        let next = ctx.get::<u64>("n").await?.unwrap_or(0) + 1;
        ctx.set("n", next);
        Ok(next)
    }

    #[handler]
    async fn read(&self, ctx: SharedObjectContext<'_>) -> HandlerResult<u64> {
        Ok(ctx.get::<u64>("n").await?.unwrap_or(0))
    }
}

/// Has a state of as many characters as it is called with, and a small one beside it.
struct Keeper;

#[object]
impl Keeper {
    #[handler]
    async fn replace(&self, ctx: ObjectContext<'_>, length: u64) -> HandlerResult<u64> {
        let before = ctx.get::<String>("text").await?.unwrap_or_default();
        ctx.set(
            "text",
            (before.len() % 10).to_string().repeat(length as usize),
        );
        Ok(before.len() as u64)
    }

    #[handler]
    async fn write(&self, ctx: ObjectContext<'_>, length: u64) -> HandlerResult<u64> {
        ctx.set("text", "y".repeat(length as usize));
        Ok(length)
    }

    #[handler]
    async fn read(&self, ctx: ObjectContext<'_>) -> HandlerResult<u64> {
        Ok(ctx.get::<String>("text").await?.unwrap_or_default().len() as u64)
    }

    #[handler]
    async fn touch(&self, ctx: ObjectContext<'_>) -> HandlerResult<u64> {
        let next = ctx.get::<u64>("n").await?.unwrap_or(0) + 1;
        ctx.set("n", next);
        Ok(next)
    }
}

/// Handlers that wait with their stream open, and a callee that answers at once.
struct Waiting;

#[service]
impl Waiting {
    #[handler]
    async fn sleep(&self, ctx: Context<'_>, ms: u64) -> HandlerResult<()> {
        ctx.sleep(Duration::from_millis(ms)).await?;
        Ok(())
    }

    #[handler]
    async fn call(&self, ctx: Context<'_>, n: u32) -> HandlerResult<u32> {
        Ok(ctx
            .service_client::<WaitingClient>()
            .quick(n)
            .call()
            .await?)
    }

    #[handler]
    async fn quick(&self, _ctx: Context<'_>, n: u32) -> HandlerResult<u32> {
        Ok(n)
    }
}

struct Fan;

#[service]
impl Fan {
    /// Sum of the answers, so that the caller sees that each child was called once.
    #[handler]
    async fn calls(&self, ctx: Context<'_>, count: u32) -> HandlerResult<u64> {
        let client = || ctx.service_client::<WaitingClient>();
        let calls: Vec<_> = (0..count).map(|n| client().quick(n).call()).collect();
        let mut sum = 0;
        for call in calls {
            sum += u64::from(call.await?);
        }
        Ok(sum)
    }

    /// Waits for the first of many timers, then for each of them.
    #[handler]
    async fn timers(&self, ctx: Context<'_>, timers: Json<Timers>) -> HandlerResult<u32> {
        let Timers { count, ms } = timers.into_inner();
        let mut waiting: DurableFuturesUnordered<_> = (0..count)
            .map(|_| ctx.sleep(Duration::from_millis(ms)))
            .collect();
        let mut fired = 0;
        while let Some((_, result)) = waiting.next().await? {
            result?;
            fired += 1;
        }
        Ok(fired)
    }
}

#[derive(Serialize, Deserialize)]
struct Timers {
    count: u32,
    ms: u64,
}

struct Journal;

#[service]
impl Journal {
    #[handler]
    async fn steps(&self, ctx: Context<'_>, count: u32) -> HandlerResult<u32> {
        steps(&ctx, count).await
    }

    /// Suspends behind its steps, so that it is resumed with a journal of their length.
    #[handler(name = "stepsAndSleep")]
    async fn steps_and_sleep(&self, ctx: Context<'_>, plan: Json<Timers>) -> HandlerResult<u32> {
        let Timers { count, ms } = plan.into_inner();
        let done = steps(&ctx, count).await?;
        ctx.sleep(Duration::from_millis(ms)).await?;
        Ok(done)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sleep {
    id: u64,
    ms: u64,
    /// Key of a counter that is incremented after the sleep.
    tell_key: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Range {
    from: u64,
    to: u64,
}

#[derive(Serialize, Deserialize)]
struct Woken {
    woken: u64,
    twice: u64,
}

/// How often each sleep ended, which must be once.
static WOKEN: LazyLock<Mutex<HashMap<u64, u32>>> = LazyLock::new(Default::default);

struct Sleeper;

#[service]
impl Sleeper {
    #[handler]
    async fn sleep(&self, ctx: Context<'_>, sleep: Json<Sleep>) -> HandlerResult<()> {
        let Sleep { id, ms, tell_key } = sleep.into_inner();
        ctx.sleep(Duration::from_millis(ms)).await?;
        ctx.run(move || async move {
            *WOKEN.lock().unwrap().entry(id).or_default() += 1;
            Ok(())
        })
        .name("woke")
        .await?;
        if let Some(key) = tell_key {
            ctx.object_client::<CounterClient>(key).add().send();
        }
        Ok(())
    }

    /// Sleeps that ended, of those whose id is in the range.
    #[handler]
    async fn count(&self, _ctx: Context<'_>, range: Json<Range>) -> HandlerResult<Json<Woken>> {
        let Range { from, to } = range.into_inner();
        let woken = WOKEN.lock().unwrap();
        let times: Vec<_> = (from..to).filter_map(|id| woken.get(&id)).collect();
        let twice = times.iter().filter(|times| ***times > 1).count();
        Ok(Json(Woken {
            woken: times.len() as u64,
            twice: twice as u64,
        }))
    }
}
