//! The rates with which NCCL plans, in bytes per second and direction.
//!
//! The values are those of `src/graph/topo.h` (`SM60_NVLINK_BW` and what follows it), the formula for PCI Express that of
//! `ncclTopoAddPci` in `src/graph/topo.cc`, at <https://github.com/NVIDIA/nccl>: what remains of the nominal rates for data.

const MEGABYTE: u64 = 1_000_000;

/// What NCCL takes for a connection that never limits: 5000 GB/s.
pub(super) const LOCAL_BANDWIDTH: u64 = 5_000_000 * MEGABYTE;

/// What a network card is taken to carry if the file does not say: 10 Gbit/s.
pub(super) const DEFAULT_CARD_MEGABITS: i64 = 10_000;

/// What one NVLink carries between GPUs of a compute capability, such as 90 for 9.0.
pub(super) fn find_nvlink_bandwidth(capability: i64) -> u64 {
    let megabytes = match capability {
        100.. => 40_100,
        90.. => 20_600,
        86 => 12_000,
        70.. => 20_000,
        60.. => 18_000,
        _ => 20_000,
    };
    megabytes * MEGABYTE
}

/// What one lane of PCI Express carries, times 100 Mbit/s, for a speed such as `16.0 GT/s PCIe`; none if it is unknown.
pub(super) fn parse_pcie_speed(speed: &str) -> Option<u64> {
    let transfers = speed.split_whitespace().next()?;
    match transfers {
        "2.5" => Some(15),
        "5" | "5.0" => Some(30),
        "8" | "8.0" => Some(60),
        "16" | "16.0" => Some(120),
        "32" | "32.0" => Some(240),
        "64" | "64.0" => Some(480),
        _ => None,
    }
}

/// What NCCL takes for a speed that it does not know: that of generation 3.
pub(super) const DEFAULT_PCIE_SPEED: u64 = 60;

/// What so many lanes of a speed carry.
pub(super) fn find_pcie_bandwidth(lanes: u64, speed: u64) -> u64 {
    // In GB/s it is `lanes * speed / 80`.
    lanes.saturating_mul(speed).saturating_mul(1_000 * MEGABYTE / 80)
}

/// What a CPU is, as far as its interconnect depends on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct CpuModel<'t> {
    pub(super) arch: &'t str,
    pub(super) vendor: &'t str,
    pub(super) family: i64,
    pub(super) model: i64,
}

/// What leads from one CPU to another one of its host.
pub(super) fn find_cpu_bandwidth(cpu: CpuModel) -> u64 {
    let gigabytes = match (cpu.arch, cpu.vendor) {
        ("ppc64", _) => 32,
        ("arm64", _) => 6,
        ("x86_64", "GenuineIntel") => match (cpu.family, cpu.model) {
            (6, 0xcf..) => 40,
            (6, 0x8f..) => 22,
            (6, 0x55..) => 10,
            _ => 6,
        },
        ("x86_64", "AuthenticAMD") => 16,
        ("x86_64", "CentaurHauls" | "  Shanghai  ") => {
            if (cpu.family, cpu.model) == (7, 0x5b) {
                9
            } else {
                6
            }
        }
        _ => return LOCAL_BANDWIDTH,
    };
    gigabytes * 1_000 * MEGABYTE
}

#[cfg(test)]
mod tests {
    use super::{
        CpuModel, find_cpu_bandwidth, find_nvlink_bandwidth, find_pcie_bandwidth, parse_pcie_speed,
    };

    #[test]
    fn rates_are_those_of_nccl() {
        let nvlinks = [60, 70, 80, 86, 89, 90, 100, 35].map(find_nvlink_bandwidth);
        let megabytes = nvlinks.map(|rate| rate / 1_000_000);
        assert_eq!(megabytes, [18_000, 20_000, 20_000, 12_000, 20_000, 20_600, 40_100, 20_000]);
        let speed = parse_pcie_speed("8.0 GT/s PCIe").unwrap();
        assert_eq!(find_pcie_bandwidth(16, speed), 12_000_000_000);
        assert_eq!(find_pcie_bandwidth(16, parse_pcie_speed("32 GT/s").unwrap()), 48_000_000_000);
        assert_eq!(parse_pcie_speed(""), None);
        let skylake = CpuModel { arch: "x86_64", vendor: "GenuineIntel", family: 6, model: 85 };
        assert_eq!(find_cpu_bandwidth(skylake), 10_000_000_000);
    }
}
