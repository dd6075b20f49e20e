import Foundation
import Glibc

/// What the figures were taken on.
struct Machine {
    let processor: String
    let processors: Int
    let memoryMiB: Int64
    let kernel: String
    /// Microseconds until 8 KiB that were appended to a file are on its disk, where the database's files are: the median of 100.
    let flush: Double

    /// - Parameter directory: One on the disk of the database.
    init(directory: String) throws {
        let text = FileManager.default.contents(atPath: "/proc/cpuinfo").map { String(decoding: $0, as: UTF8.self) }
        let model = text?.split(separator: "\n").first { $0.hasPrefix("model name") || $0.hasPrefix("Processor") }
        processor =
            model?.split(separator: ":").last.map { $0.trimmingCharacters(in: .whitespaces) } ?? "unknown"
        processors = ProcessInfo.processInfo.activeProcessorCount
        memoryMiB = Int64(clamping: ProcessInfo.processInfo.physicalMemory >> 20)
        var name = utsname()
        uname(&name)
        kernel = withUnsafeBytes(of: &name.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        flush = try Self.flushTime(in: directory)
    }

    private static func flushTime(in directory: String) throws -> Double {
        let path = "\(directory)/flush"
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw ProcessStatus.Unreadable(path: path) }
        defer {
            close(descriptor)
            unlink(path)
        }
        let page = [UInt8](repeating: 0x5a, count: 8192)
        var times: [Double] = []
        for _ in 0..<100 {
            let start = ProcessClock.monotonic
            guard write(descriptor, page, page.count) == page.count, fdatasync(descriptor) == 0 else {
                throw ProcessStatus.Unreadable(path: path)
            }
            times.append(Double(ProcessClock.monotonic - start) / 1000)
        }
        return Spread(times).median
    }
}
