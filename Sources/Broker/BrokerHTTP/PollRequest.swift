import NativeSSO
import StrictCoding

/// The body of a poll for security events. RFC 8936 §2.2.
struct PollRequest: Sendable {
    /// How many events the answer may hold, at most ``mostEvents``.
    let maximumEvents: Int64
    /// Whether the broker answers at once although there is no event.
    let returnsImmediately: Bool
    /// Sessions whose events the receiver has processed, or could not read (`setErrs`): neither comes again.
    let acknowledged: [UniqueID]
    /// How many events the receiver could not read.
    let failures: Int
    /// The process that polls: each process of a resource server needs every event. The broker's own member.
    let receiver: String

    /// Of one answer; some 60 KiB.
    static let mostEvents: Int64 = 100

    /// `nil`: not an object with members as RFC 8936 defines them. Other members are ignored.
    init?(_ body: some Collection<UInt8>) {
        guard let json = (try? JSONReader.parse(body))?.object,
            let maximum = Self.count(json["maxEvents"]), let returns = Self.flag(json["returnImmediately"]),
            let ack = Self.list(json["ack"]), let errors = Self.errors(json["setErrs"]),
            let receiver = Self.name(json["receiver"])
        else { return nil }
        maximumEvents = maximum
        returnsImmediately = returns
        // The broker made no other jti, so there is nothing else to acknowledge.
        acknowledged = (ack + errors).compactMap { UniqueID($0) }
        failures = errors.count
        self.receiver = receiver
    }

    private static func count(_ value: JSONValue?) -> Int64? {
        guard let value else { return mostEvents }
        guard let count = value.number?.int64, count >= 0 else { return nil }
        return min(count, mostEvents)
    }

    private static func flag(_ value: JSONValue?) -> Bool? {
        guard let value else { return false }
        return value.bool
    }

    private static func list(_ value: JSONValue?) -> [String]? {
        guard let value else { return [] }
        return value.strings
    }

    /// The names are the `jti`; each value says what was wrong. RFC 8936 §2.6.
    private static func errors(_ value: JSONValue?) -> [String]? {
        guard let value else { return [] }
        guard let errors = value.object, errors.members.allSatisfy({ $0.value.object != nil }) else { return nil }
        return errors.names
    }

    private static func name(_ value: JSONValue?) -> String? {
        guard let value else { return "" }
        guard let name = value.string, (1...64).contains(name.utf8.count), name.utf8.allSatisfy(\.isUnreserved)
        else { return nil }
        return name
    }
}
