//! Handlers with a planted bug each. OUTSIDE is a folder that stands for the world outside: prices, and flags that an operator sets.
use restate_sdk::prelude::*;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

fn outside(name: &str) -> PathBuf {
    PathBuf::from(std::env::var("OUTSIDE").expect("OUTSIDE")).join(name)
}

#[derive(Serialize, Deserialize)]
pub struct Secret {
    password: String,
}

#[derive(Serialize, Deserialize)]
pub struct Plan {
    name: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Profile {
    api_key: String,
    plan: Option<Plan>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Contents {
    items: Vec<String>,
    session_token: String,
}

pub struct Shelf;

#[service]
impl Shelf {
    #[handler]
    async fn list(
        &self,
        _ctx: Context<'_>,
        request: Json<Secret>,
    ) -> HandlerResult<Json<Contents>> {
        Ok(Json(Contents {
            items: vec![],
            session_token: request.into_inner().password,
        }))
    }
}

pub struct Planted;

#[object]
impl Planted {
    #[handler]
    async fn fill(&self, ctx: ObjectContext<'_>, profile: Json<Profile>) -> HandlerResult<()> {
        ctx.set("profile", profile);
        Ok(())
    }

    /// Bug: a profile may be without a plan.
    #[handler]
    async fn state(&self, ctx: ObjectContext<'_>, _request: Json<Secret>) -> HandlerResult<String> {
        let profile = ctx.get::<Json<Profile>>("profile").await?.unwrap();
        Ok(profile.into_inner().plan.unwrap().name.to_uppercase())
    }

    /// Bug: a price may have a decimal comma.
    #[handler]
    async fn step(&self, ctx: ObjectContext<'_>, _request: Json<Secret>) -> HandlerResult<u32> {
        let price: String = ctx
            .run(|| async { Ok(std::fs::read_to_string(outside("price"))?) })
            .name("price")
            .await?;
        Ok(price.parse::<u32>()?)
    }

    /// Bug: a shelf may be empty.
    #[handler]
    async fn call(&self, ctx: ObjectContext<'_>, request: Json<Secret>) -> HandlerResult<String> {
        let found = ctx.service_client::<ShelfClient>().list(request).call();
        let Json(Contents { items, .. }) = found.await?;
        Ok(items[0].clone())
    }

    /// Bug: the flag is read outside of a step.
    #[handler]
    async fn flag(&self, ctx: ObjectContext<'_>, _request: Json<Secret>) -> HandlerResult<String> {
        let step = if outside("flag").exists() {
            "refuse"
        } else {
            "reserve"
        };
        ctx.run(|| async { Ok(true) }).name(step).await?;
        Err(std::io::Error::other("the warehouse is closed").into())
    }
}
