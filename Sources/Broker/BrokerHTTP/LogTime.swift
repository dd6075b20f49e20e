import Glibc

package struct LogTime: Sendable {
    let seconds: Int64
    let microseconds: Int

    package static let system: @Sendable () -> LogTime = {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return LogTime(seconds: Int64(time.tv_sec), microseconds: Int(time.tv_nsec / 1000))
    }

    /// UTC, `1994-11-06T08:49:37.000000Z`. RFC 3339 §5.6.
    func append(to line: inout [UInt8]) {
        let time = parts
        Self.append(Int(time.tm_year) + 1900, digits: 4, before: "-", to: &line)
        Self.append(Int(time.tm_mon) + 1, digits: 2, before: "-", to: &line)
        Self.append(Int(time.tm_mday), digits: 2, before: "T", to: &line)
        appendTimeOfDay(time, to: &line)
        line.append(UInt8(ascii: "Z"))
    }

    /// UTC, `08:49:37.000000`.
    func appendTimeOfDay(to line: inout [UInt8]) { appendTimeOfDay(parts, to: &line) }

    private func appendTimeOfDay(_ time: tm, to line: inout [UInt8]) {
        Self.append(Int(time.tm_hour), digits: 2, before: ":", to: &line)
        Self.append(Int(time.tm_min), digits: 2, before: ":", to: &line)
        Self.append(Int(time.tm_sec), digits: 2, before: ".", to: &line)
        Self.append(microseconds, digits: 6, to: &line)
    }

    /// The last `digits` digits of a non-negative number, and a separator.
    private static func append(
        _ value: Int, digits: Int, before separator: Unicode.Scalar? = nil, to text: inout [UInt8]
    ) {
        var divisor = 1
        for _ in 1..<digits { divisor *= 10 }
        while divisor > 0 {
            text.append(UInt8(ascii: "0") + UInt8(value / divisor % 10))
            divisor /= 10
        }
        if let separator { text.append(UInt8(ascii: separator)) }
    }

    /// In UTC. Clamped to the years 1 to 9999, which have four digits.
    private var parts: tm {
        var (time, parts) = (time_t(min(max(seconds, -62_135_596_800), 253_402_300_799)), tm())
        gmtime_r(&time, &parts)
        return parts
    }
}
