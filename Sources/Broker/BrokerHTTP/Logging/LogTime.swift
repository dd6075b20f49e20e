#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The instant of a log line.
public struct LogTime: Sendable {
    private let seconds: Int64
    private let microseconds: Int

    public init(seconds: Int64, microseconds: Int) {
        self.seconds = seconds
        self.microseconds = microseconds
    }

    public static let system: @Sendable () -> LogTime = {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return LogTime(seconds: Int64(time.tv_sec), microseconds: Int(time.tv_nsec / 1000))
    }

    /// UTC, `1994-11-06T08:49:37.000000Z`. RFC 3339 §5.6.
    func append(to line: inout [UInt8]) {
        let time = CivilTime(seconds: seconds)
        Decimal.append(Int(time.year), digits: 4, to: &line)
        line.append(UInt8(ascii: "-"))
        Decimal.append(time.month, digits: 2, to: &line)
        line.append(UInt8(ascii: "-"))
        Decimal.append(time.day, digits: 2, to: &line)
        line.append(UInt8(ascii: "T"))
        appendTimeOfDay(time, to: &line)
        line.append(UInt8(ascii: "Z"))
    }

    /// UTC, `08:49:37.000000`.
    func appendTimeOfDay(to line: inout [UInt8]) {
        appendTimeOfDay(CivilTime(seconds: seconds), to: &line)
    }

    private func appendTimeOfDay(_ time: CivilTime, to line: inout [UInt8]) {
        Decimal.append(time.hour, digits: 2, to: &line)
        line.append(UInt8(ascii: ":"))
        Decimal.append(time.minute, digits: 2, to: &line)
        line.append(UInt8(ascii: ":"))
        Decimal.append(time.second, digits: 2, to: &line)
        line.append(UInt8(ascii: "."))
        Decimal.append(microseconds, digits: 6, to: &line)
    }
}
