import Foundation
import Glibc

/// All processes of one PostgreSQL server: sessions, writers, checkpointer, autovacuum, and those that have ended.
struct ServerProcesses: Sendable {
    let postmaster: pid_t

    /// - Parameter cluster: The directory of a private cluster.
    init(cluster directory: String) throws {
        let path = "\(directory)/data/postmaster.pid"
        guard let file = FileManager.default.contents(atPath: path).map({ String(decoding: $0, as: UTF8.self) }),
            let pid = file.split(separator: "\n").first.flatMap({ pid_t($0) })
        else { throw ProcessStatus.Unreadable(path: path) }
        postmaster = pid
    }

    /// Processor time of them all, in nanoseconds.
    ///
    /// A session that ends while the others are read would be counted twice or not at all: then they are read again. What has
    /// ended is known to a hundredth of a second.
    func nanoseconds() throws -> Int64 {
        for _ in 0..<50 {
            let ended = try ProcessStatus.endedChildren(of: postmaster)
            let processes = [postmaster] + ProcessStatus.children(of: postmaster)
            let times = processes.compactMap { ProcessClock.nanoseconds(of: $0) }
            if times.count == processes.count, try ProcessStatus.endedChildren(of: postmaster) == ended {
                return ended + times.reduce(0, +)
            }
        }
        throw ProcessStatus.Unreadable(path: "/proc: the server's processes come and go")
    }
}
