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

/// An instant in UTC as people write it: proleptic Gregorian calendar, no leap seconds.
///
/// Days are turned into a date by Howard Hinnant's `civil_from_days`, which counts years from March so that the leap day
/// comes last.
struct CivilTime {
    let year: Int64
    /// 1 to 12.
    let month: Int
    /// 1 to 31.
    let day: Int
    let hour: Int
    let minute: Int
    let second: Int
    /// 0 is Sunday.
    let weekday: Int

    /// - Parameter seconds: Since 1970-01-01T00:00:00Z; held to the years 1 to 9999.
    init(seconds: Int64) {
        let seconds = min(max(seconds, -62_135_596_800), 253_402_300_799)
        let days = Self.floorDivide(seconds, 86_400)
        let secondOfDay = Int(seconds - days * 86_400)
        hour = secondOfDay / 3600
        minute = secondOfDay / 60 % 60
        second = secondOfDay % 60
        weekday = Int((days % 7 + 11) % 7)  // 1970-01-01 was a Thursday

        let shifted = days + 719_468  // from 0000-03-01
        let era = Self.floorDivide(shifted, 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = Int(dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100))
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// `Sun, 06 Nov 1994 08:49:37 GMT`. RFC 9110 §5.6.7.
    var httpDate: String {
        let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        var text = Array("\(weekdays[weekday]), ".utf8)
        Decimal.append(day, digits: 2, to: &text)
        text.append(contentsOf: " \(months[month - 1]) ".utf8)
        Decimal.append(Int(year), digits: 4, to: &text)
        for (separator, value) in [(" ", hour), (":", minute), (":", second)] {
            text.append(contentsOf: separator.utf8)
            Decimal.append(value, digits: 2, to: &text)
        }
        return String(decoding: text, as: UTF8.self) + " GMT"
    }

    private static func floorDivide(_ a: Int64, _ b: Int64) -> Int64 { a / b - (a % b < 0 ? 1 : 0) }
}

/// Numbers of a fixed width.
enum Decimal {
    /// The last `digits` digits of a number that is not negative.
    static func append(_ value: Int, digits: Int, to text: inout [UInt8]) {
        var divisor = 1
        for _ in 1..<max(digits, 1) { divisor *= 10 }
        while divisor > 0 {
            text.append(UInt8(ascii: "0") + UInt8(value / divisor % 10))
            divisor /= 10
        }
    }
}
