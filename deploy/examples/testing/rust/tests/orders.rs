mod perdure;

use orders::Orders;
use perdure::Perdure;
use restate_sdk::prelude::Endpoint;

fn submit(perdure: &Perdure, key: &str) -> String {
    let answer = perdure.post(&format!("{}/Orders/{key}/run/send", perdure.ingress), &3.into());
    answer["invocationId"].as_str().expect("invocationId").to_owned()
}

#[test]
fn reminds_after_three_days() {
    let perdure = Perdure::start(Endpoint::builder().bind(Orders).build());
    let order = submit(&perdure, "o-1");
    perdure.advance(71);
    assert_eq!(perdure.steps(&order), ["reserve", "sleep 3d"]);
    perdure.advance(1);
    assert_eq!(perdure.steps(&order), ["reserve", "sleep 3d", "remind"]);
}

#[test]
fn a_crash_before_the_acknowledgement_repeats_the_step() {
    let perdure = Perdure::start(Endpoint::builder().bind(Orders).build());
    perdure.crash_at("reserve", "before-ack");
    let order = submit(&perdure, "o-2");
    perdure.advance(96);
    assert_eq!(perdure.hits(), 1);
    assert_eq!(perdure.steps(&order), ["reserve", "sleep 3d", "remind"]);
}
