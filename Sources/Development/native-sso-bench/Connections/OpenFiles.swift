import Glibc

/// How many files, connections included, this program and those that it starts may have open.
enum OpenFiles {
    /// Beside the connections that are measured.
    private static let others: UInt = 512

    /// Raises the limit as far as the system lets it.
    static func allow(_ connections: Int) throws {
        let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        let needed = UInt(connections) + others
        if getrlimit(kind, &limit) == 0, limit.rlim_cur < needed {
            // Only root may raise the hard limit.
            var wider = rlimit(rlim_cur: max(needed, limit.rlim_max), rlim_max: max(needed, limit.rlim_max))
            if setrlimit(kind, &wider) != 0 {
                limit.rlim_cur = limit.rlim_max
                setrlimit(kind, &limit)
            }
            getrlimit(kind, &limit)
        }
        guard limit.rlim_cur >= needed else {
            throw Program.Failure(
                description: "\(connections) connections need \(needed) open files, and \(limit.rlim_cur) are allowed: "
                    + "raise that (ulimit -Hn) or ask for fewer (--idle, --attackers)")
        }
    }
}
