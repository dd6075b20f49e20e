import Foundation
import Glibc

/// What the figures were taken on.
struct Machine {
    let processor: String
    let processors: Int
    let memoryMiB: Int64
    let kernel: String

    init() {
        let text = FileManager.default.contents(atPath: "/proc/cpuinfo").map { String(decoding: $0, as: UTF8.self) }
        let model = text?.split(separator: "\n").first { $0.hasPrefix("model name") || $0.hasPrefix("Processor") }
        processor =
            model?.split(separator: ":").last.map { $0.trimmingCharacters(in: .whitespaces) } ?? "unknown"
        processors = ProcessInfo.processInfo.activeProcessorCount
        memoryMiB = Int64(clamping: ProcessInfo.processInfo.physicalMemory >> 20)
        var name = utsname()
        uname(&name)
        kernel = withUnsafeBytes(of: &name.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
