def submit(perdure, key):
    answer = perdure.request("POST", f"{perdure.ingress}/Orders/{key}/run/send", 3)
    return answer["invocationId"]


def test_reminds_after_three_days(perdure):
    order = submit(perdure, "o-1")
    perdure.advance(days=2, hours=23)
    assert perdure.steps(order) == ["reserve", "sleep 3d"]
    perdure.advance(hours=1)
    assert perdure.steps(order) == ["reserve", "sleep 3d", "remind"]


def test_a_crash_before_the_acknowledgement_repeats_the_step(perdure):
    crash = perdure.crash_at("reserve", "before-ack")
    order = submit(perdure, "o-2")
    perdure.advance(days=4)
    faults = perdure.request("GET", f"{perdure.admin}/testing/faults")["faults"]
    assert [fault["hits"] for fault in faults if fault["id"] == crash["id"]] == [1]
    assert perdure.steps(order) == ["reserve", "sleep 3d", "remind"]
