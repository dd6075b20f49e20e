import BrokerTesting
import JOSE
import StrictCoding
import Synchronization
import Testing

@testable import TokenVerifier

/// Ends of sessions, from the broker's poll answers to the refusal of an access token.
@Suite(.timeLimit(.minutes(1))) struct EndedSessionTests {
    private static let event = "https://schemas.openid.net/secevent/caep/event-type/session-revoked"
    private let clock = ManualClock()
    private let loader = ScriptedLoader()
    private let key: TestKey

    init() throws {
        key = try TestKey.shared(.es256)
        try loader.answer([key])
    }

    private func verifier(_ sessions: EndedSessions?) -> TokenVerifier {
        TokenVerifier(
            issuer: "https://sso.example.com", algorithms: [.es256], loader: loader, endedSessions: sessions,
            clock: clock, now: { Resource.now })
    }

    private func refusal(_ verifier: TokenVerifier, session: String?) async throws -> VerificationError? {
        let token = try Resource().token(key, [("session_id", session.map { .string($0) })])
        do throws(VerificationError) {
            _ = try await verifier.verify(token, audience: "https://api.example.com")
            return nil
        } catch {
            return error
        }
    }

    private func set(
        _ session: String, type: String = "secevent+jwt", issuer: String = "https://sso.example.com",
        event: String = event, format: String = "opaque", key other: TestKey? = nil
    ) throws -> String {
        let text = #"""
            {"iss":"\#(issuer)","jti":"\#(session)","iat":1,"aud":"api","sub_id":{"format":"\#(format)","id":"\#(session)"},
            "events":{"\#(event)":{"event_timestamp":1}}}
            """#
        return try (other ?? key).sign(
            claims: try #require(try JSONReader.parse(Array(text.utf8)).object), type: type)
    }

    private static func answer(_ sets: [(String, String)]) -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("sets", object: { json in for (id, set) in sets { json.member(id, set) } })
        }
        return json.bytes
    }

    /// Answers one poll after another, and then none. Each body arrives in `bodies`.
    private func poll(
        _ verifier: TokenVerifier, _ answers: [Result<[UInt8], LoadFailed>],
        onFailure: @escaping @Sendable (any Error) -> Void = { _ in }
    ) async throws -> [JSONObject] {
        let rest = Mutex(answers[...])
        let (bodies, arrived) = AsyncStream.makeStream(of: [UInt8].self)
        let poller = try #require(
            EndedSessionPoller(for: verifier, clock: ImmediateClock(), onFailure: onFailure) { body in
                arrived.yield(body)
                guard let next = rest.withLock({ $0.popFirst() }) else {
                    for await _ in AsyncStream<Void>(unfolding: { try? await Task.sleep(for: .seconds(60)) }) {}
                    throw CancellationError()
                }
                return try next.get()
            })
        let task = Task { await poller.run() }
        var read: [JSONObject] = []
        for await body in bodies {
            read.append(try #require(try JSONReader.parse(body).object))
            if read.count == answers.count + 1 { break }
        }
        task.cancel()
        await task.value
        return read
    }

    @Test func aTokenOfAnEndedSessionIsRefused() async throws {
        let sessions = EndedSessions(clock: clock)
        let verifier = verifier(sessions)
        #expect(try await refusal(verifier, session: "s1") == nil)
        let bodies = try await poll(verifier, [.success(Self.answer([("s1", try set("s1"))]))])
        #expect(try await refusal(verifier, session: "s1") == VerificationError(.sessionEnded))
        #expect(try await refusal(verifier, session: "s2") == nil)
        #expect(try await refusal(verifier, session: nil) == nil)
        #expect(try await refusal(self.verifier(nil), session: "s1") == nil)
        #expect(bodies[0]["ack"] == nil && bodies[1].strings("ack") == ["s1"])
        #expect(bodies[0].string("receiver")?.utf8.count == 22)
        #expect(bodies[0].string("receiver") == bodies[1].string("receiver"))
        #expect(sessions.status == .init(count: 1, sinceLastAnswer: .zero, failures: 0, dropped: 0))
    }

    /// What the broker did not sign, or is another event, ends nothing and is reported.
    @Test func foreignEventsEndNothing() async throws {
        let sessions = EndedSessions(clock: clock)
        let verifier = verifier(sessions)
        let stranger = try TestKey.shared(.es384)
        let sets = [
            ("type", try set("type", type: "at+jwt")), ("issuer", try set("issuer", issuer: "https://other.example")),
            ("event", try set("event", event: "https://example.com/other")),
            ("format", try set("format", format: "iss_sub")), ("key", try set("key", key: stranger)), ("text", "x"),
        ]
        let failures = Mutex<[VerificationError.Code]>([])
        let bodies = try await poll(verifier, [.success(Self.answer(sets))]) { error in
            if case .refused(let why)? = error as? EndedSessionPoller.Failure {
                failures.withLock { $0.append(why.code) }
            }
        }
        #expect(
            failures.withLock { $0 } == [
                .wrongType, .wrongIssuer, .malformedClaim, .malformedClaim, .algorithmNotAllowed, .malformed,
            ])
        #expect(bodies[1]["ack"] == nil && bodies[1].object("setErrs")?.names == sets.map(\.0))
        #expect(sessions.status.count == 0)
    }

    /// An outage is visible, and refuses a valid token only if asked.
    @Test func anOutageOfTheBroker() async throws {
        let lenient = EndedSessions(clock: clock)
        let strict = EndedSessions(refusesAfter: .seconds(60), clock: clock)
        for (sessions, code) in [(lenient, nil), (strict, VerificationError.Code.endedSessionsUnknown)] {
            let verifier = verifier(sessions)
            let failures = Mutex(0)
            _ = try await poll(
                verifier, [.success(Self.answer([])), .failure(LoadFailed()), .success(Array("[]".utf8))]
            ) { _ in failures.withLock { $0 += 1 } }
            #expect(failures.withLock { $0 } == 2)
            #expect(sessions.status.failures == 2)
            #expect(try await refusal(verifier, session: "s1") == nil)
            clock.advance(by: .seconds(61))
            #expect(try await refusal(verifier, session: "s1")?.code == code)
            // A token without a session is none of its business.
            #expect(try await refusal(verifier, session: nil) == nil)
        }
    }

    @Test func whatIsKeptIsBounded() throws {
        let sessions = EndedSessions(life: .seconds(300), capacity: 3, clock: clock)
        for session in ["a", "b", "c", "c", "d"] { sessions.insert(session) }
        #expect(sessions.status.count == 3 && sessions.status.dropped == 1)
        #expect(throws: Never.self) { try sessions.check("a") }
        for session in ["b", "c", "d"] {
            #expect(throws: VerificationError(.sessionEnded)) { try sessions.check(session) }
        }
        clock.advance(by: .seconds(301))
        #expect(throws: Never.self) { try sessions.check("b") }
        sessions.insert("e")
        #expect(sessions.status.count == 1)
    }

    @Test func aVerifierWithoutEndedSessionsHasNoPoller() {
        #expect(EndedSessionPoller(for: verifier(nil), transport: { $0 }) == nil)
    }
}

/// Sleeps end at once.
private struct ImmediateClock: Clock {
    var now: ContinuousClock.Instant { .now }
    var minimumResolution: Duration { .zero }
    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        // The time limit of a poll is far away.
        guard now.duration(to: deadline) > .seconds(15) else { return }
        try await Task.sleep(until: deadline, clock: .continuous)
    }
}
