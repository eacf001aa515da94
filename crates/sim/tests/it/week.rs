//! A week of virtual time: every slot fires at its time, or is recorded as the policy of its timer says.

use holon_sim::play_week;

/// The slots of "30 2 * * *": 02:30 comes twice on the 31st and fires once.
const NIGHTLY: [&str; 7] = [
    "27 00:30",
    "28 00:30",
    "29 00:30",
    "30 00:30 -> 30 12:30",
    "31 00:30",
    "01 01:30",
    "02 01:30",
];

/// The slots of "0 */6 * * *": each one that passed while the host was down has a tick.
const SIX_HOURLY: [&str; 28] = [
    "27 04:00",
    "27 10:00",
    "27 16:00",
    "27 22:00",
    "28 04:00",
    "28 10:00",
    "28 16:00",
    "28 22:00",
    "29 04:00",
    "29 10:00",
    "29 16:00",
    "29 22:00 -> 30 12:30",
    "30 04:00 -> 30 12:30",
    "30 10:00 -> 30 12:30",
    "30 16:00",
    "30 22:00",
    "31 05:00",
    "31 11:00",
    "31 17:00",
    "31 23:00",
    "01 05:00",
    "01 11:00",
    "01 17:00",
    "01 23:00",
    "02 05:00",
    "02 11:00",
    "02 17:00",
    "02 23:00",
];

/// The slots of "0 8,14,20 * * *": of those that passed while the host was down none has a tick.
const BY_DAY: [&str; 20] = [
    "27 06:00",
    "27 12:00",
    "27 18:00",
    "28 06:00",
    "28 12:00",
    "28 18:00",
    "29 06:00",
    "29 12:00",
    "29 18:00",
    "30 06:00 -> 30 12:30 no tick",
    "30 18:00",
    "31 07:00",
    "31 13:00",
    "31 19:00",
    "01 07:00",
    "01 13:00",
    "01 19:00",
    "02 07:00",
    "02 13:00",
    "02 19:00",
];

#[test]
fn a_week_with_a_clock_change_and_two_outages_fires_every_slot_as_its_policy_says() {
    let timers = play_week().expect("every rule holds");
    let found = timers.iter().map(|timer| {
        let fires: Vec<&str> = timer.fires.iter().map(String::as_str).collect();
        (
            timer.expression,
            fires,
            timer.fire_count,
            timer.missed_count,
        )
    });
    let found: Vec<_> = found.collect();
    let expected = vec![
        ("30 2 * * *", NIGHTLY.to_vec(), 7, 0),
        ("0 */6 * * *", SIX_HOURLY.to_vec(), 28, 0),
        ("0 8,14,20 * * *", BY_DAY.to_vec(), 19, 2),
    ];
    assert_eq!(found, expected);
}
