package import NativeSSO
import StrictCoding
import Synchronization

/// Tells resource servers which sessions ended: security event tokens (RFC 8417) by polling (RFC 8936), each a
/// `session-revoked` event of CAEP.
///
/// A poll that waits is a sleeping task: it holds no connection to the database. All of them together ask the database
/// four times a second whether anything ended.
package struct EventPolling: Sendable {
    private let issuer: Issuer
    private let signer: any TokenSigner
    private let registry: any EndedSessionRegistry
    private let life: Seconds
    private let clock: any WallClock
    private let position = LastPosition()

    /// How long a poll waits for an event. Shorter than a graceful stop.
    static let wait = Duration.seconds(8)

    /// - Parameters:
    ///   - issuer: Ours: `iss` of the events.
    ///   - life: The configured life of access tokens. A client may have a longer one of its own.
    package init(
        issuer: Issuer, signer: any TokenSigner, registry: any EndedSessionRegistry, life: Seconds,
        clock: any WallClock
    ) {
        self.issuer = issuer
        self.signer = signer
        self.registry = registry
        self.life = life
        self.clock = clock
    }

    /// The JSON of the answer. RFC 8936 §2.3.
    func answer(_ poll: PollRequest, to client: Client) async throws(PortError) -> [UInt8] {
        let deadline = ContinuousClock.now + Self.wait
        var seen = try await position.current(registry)
        var ended = try await next(poll, client, acknowledging: poll.acknowledged)
        while ended.isEmpty, !poll.returnsImmediately, poll.maximumEvents > 0, ContinuousClock.now < deadline {
            guard (try? await Task.sleep(for: LastPosition.interval)) != nil else { break }
            let latest = try await position.current(registry)
            guard latest > seen else { continue }
            seen = latest
            ended = try await next(poll, client, acknowledging: [])
        }
        let answered = ended.prefix(Int(poll.maximumEvents))
        var json = JSONWriter(reservingCapacity: 64 + answered.count * 768)
        var tokens: [(id: String, token: String)] = []
        for ended in answered { tokens.append((ended.id.description, try await token(ended, for: client))) }
        json.object { json in
            json.member("sets", object: { json in for (id, token) in tokens { json.member(id, token) } })
            json.member("moreAvailable", ended.count > answered.count)
        }
        return json.bytes
    }

    /// One more than is asked for tells whether there are more.
    private func next(
        _ poll: PollRequest, _ client: Client, acknowledging: [UniqueID]
    ) async throws(PortError) -> [EndedSession] {
        try await registry.next(
            for: client.id, receiver: poll.receiver, acknowledged: acknowledging, limit: poll.maximumEvents + 1,
            life: life)
    }

    /// A session ends once, so its name is `jti` too. A security event token has no `exp` (RFC 8417 §2.2).
    private func token(_ ended: EndedSession, for client: Client) async throws(PortError) -> String {
        let id = ended.id.description
        var json = JSONWriter()
        json.object { json in
            json.member("iss", issuer.string)
            json.member("jti", id)
            json.member("iat", clock.now.seconds)
            json.member("aud", client.id.string)
            json.member(
                "sub_id",
                object: { json in
                    json.member("format", "opaque")
                    json.member("id", id)
                })
            json.member(
                "events",
                object: { json in
                    json.member(
                        Self.sessionRevoked,
                        object: { json in
                            json.member("event_timestamp", ended.endedAt.seconds)
                            json.member("initiating_entity", Self.initiator(ended.reason))
                        })
                })
        }
        return try await signer.sign(
            payload: json.bytes, type: .securityEvent,
            algorithm: try signer.algorithm(client.algorithm(of: .accessToken)))
    }

    private static let sessionRevoked = "https://schemas.openid.net/secevent/caep/event-type/session-revoked"

    /// CAEP §2: who began it.
    private static func initiator(_ reason: String) -> String {
        switch reason {
        case "app": "user"
        case "operator", "support": "admin"
        default: "system"
        }
    }
}

/// The last position in the database, as of a moment ago. Of all that ask, one asks the database.
private final class LastPosition: Sendable {
    static let interval = Duration.milliseconds(250)

    private struct State {
        var value: Int64 = 0
        var askedAt: ContinuousClock.Instant?
        var isAsking = false
    }

    private let state = Mutex(State())

    func current(_ registry: any EndedSessionRegistry) async throws(PortError) -> Int64 {
        let known = state.withLock { state -> Int64? in
            let isFresh = state.askedAt.map { ContinuousClock.now - $0 < Self.interval } ?? false
            guard !state.isAsking, !isFresh else { return state.value }
            state.isAsking = true
            return nil
        }
        if let known { return known }
        let answer: Result<Int64, PortError>
        do throws(PortError) {
            answer = .success(try await registry.lastPosition())
        } catch {
            answer = .failure(error)
        }
        state.withLock { state in
            state.isAsking = false
            state.askedAt = .now
            if case .success(let value) = answer { state.value = max(state.value, value) }
        }
        return try answer.get()
    }
}

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
