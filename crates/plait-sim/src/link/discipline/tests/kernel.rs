//! CoDel against the kernel's own code.

use super::*;

/// The results of the kernel's `codel_dequeue` for the packets of [`against_the_kernel`].
struct Kernel {
    sent: u64,
    dropped: u64,
    marked: u64,
    /// Hashes of the sent packets' numbers in order (plus 2²⁰ if marked), and of the dropped ones'.
    hashes: [u64; 2],
    end: u64,
    first_drops: [(u64, u64); 8],
}

/// 20,000 packets of random size, at 80 % and at 130 % of 10 Mbit/s in turn. The expected values
/// are the results of `codel_dequeue` of `include/net/codel_impl.h` in Linux 6.12, compiled with a
/// clock of nanoseconds, for the same packets.
fn against_the_kernel(ecn: u64, expected: &Kernel) {
    let config = LinkConfig {
        queue: QueueLimit::Infinite.into(),
        delay: Duration::ZERO.into(),
        ..config("codel", &[("ecn", ecn)])
    };
    let mut link = link(&config);
    let mut state = 1_u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let (mut drops, mut sent, mut marked, mut hashes) = (Vec::new(), 0, 0, [0_u64; 2]);
    let hash = |hash: &mut u64, value: u64| *hash = hash.wrapping_mul(1_000_003).wrapping_add(value);
    let mut see = |time: Time, exit| match exit {
        Exit::Delivered(packet) => {
            let Numbered { number, marked: mark, .. } = packet;
            hash(&mut hashes[0], number + if mark { 1 << 20 } else { 0 });
            sent += 1;
            marked += u64::from(mark);
        }
        Exit::Dropped(packet) => {
            hash(&mut hashes[1], packet.number);
            drops.push((packet.number, time.as_nanos()));
        }
        Exit::Copied(_) | Exit::Lost(_) => unreachable!("nothing is lost on this wire"),
        Exit::Nothing => {}
    };
    let mut arrival = 0;
    let mut last = Time::ZERO;
    for number in 0..20_000_u64 {
        let bytes = 64 + random() % 1437;
        let load = if number / 2_000 % 2 == 0 { 80 } else { 130 };
        let mean = bytes * 800 * 100 / load;
        arrival += mean / 2 + random() % (mean + 1);
        let now = Time::from_nanos(arrival);
        run_until(&mut link, now, &mut see);
        let capable = number % 3 != 0;
        let packet = Numbered { capable, ..packet(number, 0) };
        let _ = link.send(now, bytes as u32, number, packet);
    }
    while let Some(key) = link.head() {
        last = key.time;
        let exit = link.pop();
        see(key.time, exit);
    }
    assert_eq!(drops[..8], expected.first_drops);
    assert_eq!((sent, drops.len() as u64, marked), (expected.sent, expected.dropped, expected.marked));
    assert_eq!((hashes, last.as_nanos()), (expected.hashes, expected.end));
    let counts = link.report().expect("an active queue").counts;
    assert_eq!((counts.dropped, counts.marked, counts.over_limit), (expected.dropped, expected.marked, 0));
}

#[test]
fn codel_drops_what_the_kernel_drops() {
    against_the_kernel(
        0,
        &Kernel {
            sent: 18_908,
            dropped: 1_092,
            marked: 0,
            hashes: [1_983_909_862_232_022_927, 117_892_003_061_433_987],
            end: 12_713_158_114,
            first_drops: [
                (2197, 1_694_358_895),
                (2358, 1_794_719_695),
                (2437, 1_844_742_895),
                (2529, 1_900_818_895),
                (2617, 1_949_590_095),
                (2686, 1_994_274_095),
                (2757, 2_034_018_095),
                (2806, 2_071_925_295),
            ],
        },
    );
}

#[test]
fn codel_marks_what_the_kernel_marks_and_drops_the_rest() {
    against_the_kernel(
        1,
        &Kernel {
            sent: 19_465,
            dropped: 535,
            marked: 1_041,
            hashes: [11_008_719_567_775_560_370, 6_289_458_851_616_148_720],
            end: 12_773_686_914,
            first_drops: [
                (2436, 1_845_060_495),
                (2616, 1_950_300_495),
                (3009, 2_201_637_295),
                (3147, 2_284_678_095),
                (3348, 2_406_039_695),
                (3426, 2_450_825_295),
                (3633, 2_571_598_095),
                (3693, 2_608_919_695),
            ],
        },
    );
}
