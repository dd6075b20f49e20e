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
        guard let json = (try? JSONReader.parse(body))?.object else { return nil }
        func member<Value>(_ name: String, else absent: Value, _ read: (JSONValue) -> Value?) -> Value? {
            json[name].map(read) ?? absent
        }
        // The names of `setErrs` are the `jti`; each value says what was wrong. RFC 8936 §2.6.
        guard let maximum = member("maxEvents", else: Self.mostEvents, { $0.number?.int64 }), maximum >= 0,
            let returns = member("returnImmediately", else: false, { $0.bool }),
            let ack = member("ack", else: [], { $0.strings }),
            let errors = member("setErrs", else: JSONObject(), { $0.object }),
            errors.members.allSatisfy({ $0.value.object != nil }),
            let receiver = member("receiver", else: "", { $0.string.flatMap { Self.isName($0) ? $0 : nil } })
        else { return nil }
        maximumEvents = min(maximum, Self.mostEvents)
        returnsImmediately = returns
        // The broker made no other jti, so there is nothing else to acknowledge.
        acknowledged = (ack + errors.names).compactMap { UniqueID($0) }
        failures = errors.count
        self.receiver = receiver
    }

    private static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && text.utf8.allSatisfy(\.isUnreserved)
    }
}
