import BrokerHTTP
import FoundationEssentials
import Glibc

/// The program and its process, by the names that every Prometheus client library uses. Read at each scrape.
struct ProcessReport: MetricSource {
    let version: String
    /// Milliseconds since 1970.
    let startedAt: Int64

    var samples: [MetricSample] {
        [
            .gauge("build_info", "Always 1. The version of the broker.", 1, label: ("version", version)),
            MetricSample(
                "process_start_time_seconds", "When the broker started, in Unix time.", .gauge,
                of: Double(startedAt) / 1000),
            MetricSample(
                "process_cpu_seconds_total", "User and system CPU time of the broker.", .counter, of: Self.processorTime
            ),
            .gauge("process_resident_memory_bytes", "Memory of the broker in RAM.", Self.residentMemory),
            .gauge("process_open_fds", "Files that the broker has open, connections included.", Self.openFiles),
            .gauge("process_max_fds", "How many files the system lets the broker open.", Self.maximumFiles),
        ]
    }

    private static var processorTime: Double {
        var usage = rusage()
        guard getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage) == 0 else { return 0 }
        let microseconds = usage.ru_utime.tv_usec + usage.ru_stime.tv_usec
        return Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + Double(microseconds) / 1_000_000
    }

    /// proc_pid_statm(5): the second number, in pages.
    private static var residentMemory: Int {
        guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8),
            let pages = text.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
        else { return 0 }
        return pages &* sysconf(Int32(_SC_PAGESIZE))
    }

    private static var openFiles: Int {
        guard let folder = opendir("/proc/self/fd") else { return 0 }
        defer { closedir(folder) }
        var count = 0
        while readdir(folder) != nil { count += 1 }
        // Without ".", ".." and the folder itself.
        return max(count - 3, 0)
    }

    private static var maximumFiles: UInt64 {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 0 }
        return UInt64(limit.rlim_cur)
    }
}
