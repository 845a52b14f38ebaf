//! A workflow that reminds a customer after three days.
use restate_sdk::prelude::*;
use std::time::Duration;

pub struct Orders;

#[workflow]
impl Orders {
    #[handler]
    pub async fn run(&self, ctx: WorkflowContext<'_>, items: u32) -> HandlerResult<u32> {
        ctx.run(|| async { Ok("reserved".to_owned()) }).name("reserve").await?;
        ctx.sleep(Duration::from_secs(3 * 24 * 3600)).await?;
        ctx.run(|| async { Ok("reminded".to_owned()) }).name("remind").await?;
        Ok(items)
    }
}
