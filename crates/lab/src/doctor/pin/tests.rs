use expect_test::expect;

use super::*;

/// A machine of eight CPUs with an interface on PCI, one on virtio, one that the kernel only names in the table of
/// interrupts, and a bond.
const FILES: [(&str, &str); 18] = [
    (
        "proc/interrupts",
        "     CPU0 CPU1\n 24: 1 1 IO-APIC ttyS0\n 50: 1 1 GICv3 eth2\n 51: 1 1 GICv3 eth2-rx-1\n 52: 1 1 GICv3 eth21\n",
    ),
    ("proc/irq/40/smp_affinity_list", "0-7\n"),
    ("proc/irq/41/smp_affinity_list", "7\n"),
    ("proc/irq/42/smp_affinity_list", "0-7\n"),
    ("proc/irq/45/smp_affinity_list", "0\n"),
    ("proc/irq/50/smp_affinity_list", "1\n"),
    ("proc/irq/51/smp_affinity_list", "2\n"),
    (
        "proc/net/ipv6_route",
        "fd000000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth1\n\
         fd000000000000000000000000000001 80 00000000000000000000000000000000 00 00000000000000000000000000000000 00000000 00000002 00000000 80200001       lo\n",
    ),
    (
        "proc/net/route",
        "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n\
         eth2\t00000000\t0100A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
         eth0\t0000000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n\
         bond0\t0000010A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n\
         br0\t0000020A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n",
    ),
    ("sys/class/net/bond0/lower_eth0", ""),
    ("sys/class/net/bond0/lower_eth1", ""),
    ("sys/class/net/eth0/device", ""),
    ("sys/class/net/eth0/device/msi_irqs/40", "msix\n"),
    ("sys/class/net/eth0/device/msi_irqs/41", "msix\n"),
    ("sys/class/net/eth0/device/msi_irqs/42", "msix\n"),
    ("sys/class/net/eth1/device", ""),
    ("sys/class/net/eth1/device/../msi_irqs/45", "msix\n"),
    ("sys/class/net/eth2/device", ""),
];

const ALLOWED: [u32; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

fn planned(addresses: &[&str], count: usize, allowed: &[u32]) -> Result<Plan, Unpinned> {
    let files = FILES.map(|(path, text)| (path.to_owned(), Ok(text.to_owned())));
    let addresses: Vec<IpAddr> = addresses.iter().map(|text| text.parse().unwrap()).collect();
    plan(&Files(files.into()), &addresses, count, allowed)
}

fn told(addresses: &[&str], count: usize) -> String {
    let plan = planned(addresses, count, &ALLOWED).unwrap();
    let changes =
        plan.changes.iter().map(|one| format!("\n{}: {} → {}", one.path, one.before, one.after));
    let Plan { serving, left, interfaces, interrupts, .. } = &plan;
    format!(
        "{serving} serve {interrupts:?} of {interfaces:?}, {left} are left{}",
        changes.collect::<String>()
    )
}

#[test]
fn the_highest_cpus_serve_the_interrupts_of_the_interface_in_turn() {
    expect![[r#"
        6-7 serve [40, 41, 42] of ["eth0"], 0-5 are left
        proc/irq/40/smp_affinity_list: 0-7 → 6
        proc/irq/42/smp_affinity_list: 0-7 → 6"#]]
    .assert_eq(&told(&["10.0.0.30"], 2));
}

#[test]
fn an_interface_is_found_by_its_address_of_either_family_by_its_parts_and_by_its_name() {
    let interrupts = |addresses: &[&str]| planned(addresses, 1, &ALLOWED).unwrap().interrupts;
    // The own address of an interface has a route of its own over loopback.
    assert_eq!(interrupts(&["fd00::1"]), [45]);
    assert_eq!(interrupts(&["10.1.0.9"]), [40, 41, 42, 45]);
    assert_eq!(interrupts(&["8.8.8.8"]), [50, 51]);
    // A server on all addresses, and a client of several servers, one of them here.
    assert_eq!(interrupts(&["0.0.0.0"]), [40, 41, 42, 45, 50, 51]);
    assert_eq!(interrupts(&["127.0.0.1", "10.0.0.1"]), [40, 41, 42]);
}

#[test]
fn what_cannot_be_pinned_is_told() {
    assert_eq!(planned(&["127.0.0.1", "::1"], 8, &[0]), Err(Unpinned::Loopback));
    assert_eq!(planned(&["10.0.0.30"], 8, &ALLOWED), Err(Unpinned::TooMany(7)));
    let why = |address| match planned(&[address], 1, &ALLOWED) {
        Err(Unpinned::Unknown(why)) => why,
        other => panic!("{other:?}"),
    };
    expect!["br0 has no interrupts of its own here; use it on the machine with the real interface"]
        .assert_eq(&why("10.2.0.1"));
    expect!["no interface leads to fe00::1; see `ip route`"].assert_eq(&why("fe00::1"));
}
