import Foundation
import Glibc

/// What the kernel says of a process.
enum ProcessStatus {
    struct Unreadable: Error, CustomStringConvertible {
        let path: String
        var description: String { "cannot read \(path)" }
    }

    /// Time of the children that it has waited for, in nanoseconds: proc_pid_stat(5), fields 16 and 17, in clock ticks.
    static func endedChildren(of pid: pid_t) throws -> Int64 {
        let fields = try statFields(pid)
        guard fields.count > 14, let user = Int64(fields[13]), let system = Int64(fields[14]) else {
            throw Unreadable(path: "/proc/\(pid)/stat")
        }
        return (user + system) * tick
    }

    static func children(of pid: pid_t) -> [pid_t] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { pid_t($0) }.filter { child in
            (try? statFields(child)).map { $0.count > 1 && pid_t($0[1]) == pid } ?? false
        }
    }

    /// In KiB: `VmRSS`, the resident memory, or `RssAnon`, that which is not of files.
    static func kibibytes(_ field: String, of pid: pid_t) throws -> Int64 {
        let path = "/proc/\(pid)/status"
        guard let line = try read(path).split(separator: "\n").first(where: { $0.hasPrefix("\(field):") }),
            let size = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap({ Int64($0) })
        else { throw Unreadable(path: path) }
        return size
    }

    private static var tick: Int64 { 1_000_000_000 / Int64(max(1, sysconf(Int32(_SC_CLK_TCK)))) }

    /// From field 3 on: the name in field 2 may hold anything, parentheses and spaces included.
    private static func statFields(_ pid: pid_t) throws -> [Substring] {
        try statFields(ofText: try read("/proc/\(pid)/stat"))
    }

    static func statFields(ofText text: String) throws -> [Substring] {
        guard let end = text.lastIndex(of: ")") else { throw Unreadable(path: "/proc/…/stat") }
        return text[text.index(after: end)...].split(separator: " ")
    }

    private static func read(_ path: String) throws -> String {
        guard let data = FileManager.default.contents(atPath: path) else { throw Unreadable(path: path) }
        return String(decoding: data, as: UTF8.self)
    }
}

/// The processor time of a process: of all its threads, those that have ended included. clock_getcpuclockid(3).
enum ProcessClock {
    /// Nanoseconds, to the last one, while the files of proc(5) count in hundredths of a second. `nil`: there is no such process.
    static func nanoseconds(of pid: pid_t) -> Int64? {
        var clock = clockid_t()
        var time = timespec()
        guard clock_getcpuclockid(pid, &clock) == 0, clock_gettime(clock, &time) == 0 else { return nil }
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// Of the thread that asks.
    static var thread: Int64 { read(CLOCK_THREAD_CPUTIME_ID) }

    /// Not of a process: the time on the wall, from some beginning.
    static var monotonic: Int64 { read(CLOCK_MONOTONIC) }

    private static func read(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

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
